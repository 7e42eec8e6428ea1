"""Workers that were started, and have met where they are ranks, and wait to be arranged.

A device context and a communicator take a second on a GPU, as long as many a walk: those of
the next group may be called while this one works.
"""

import contextlib
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from cacheon.engine.grader.memory import SharedLedger
from cacheon.engine.protocol import (
    AnyReply,
    Closed,
    Done,
    Ended,
    Garbled,
    InlinePort,
    JoinGroup,
    ProcessPort,
    Raised,
    TooSlow,
    Where,
)
from cacheon.engine.seeds import skew_of
from cacheon.records.errors import InfrastructureError

_COMES_UP = 60.0
"""Seconds for a worker to make its device context."""
_MEETS = 60.0
"""Seconds for a group to come about once all of its ranks were told."""
AnyPort = ProcessPort | InlinePort


class Keeper(Protocol):
    """Who starts and ends workers: the host, over its socket."""

    def start(self, device: int) -> tuple[int, AnyPort]:
        """A fresh worker's number, and the port to it; on a GPU, the one of that number."""
        ...

    def locate(self, workers: Sequence[int]) -> tuple[Where | None, ...]:
        """The line of the candidate that each of these is running, while all of them live."""
        ...

    def end(self, worker: int, hung: bool, killed: bool) -> Ended:
        """End a worker: one that `hung` is asked for its line; neither that nor one to be
        `killed` is waited for."""
        ...

    def quiet(self) -> None:
        """Wait until nothing else of this examination uses the device; it stays so until
        this grader is done with the variant."""
        ...


def trusting(ask: Callable[[], AnyReply]) -> Done:
    """An exchange before any candidate is loaded: whatever fails is infrastructure."""
    try:
        reply = ask()
    except (Closed, Garbled, TooSlow) as error:
        raise InfrastructureError(
            f"a worker was lost before it loaded a candidate: {error!r}"
        ) from error
    if isinstance(reply, Raised):
        raise InfrastructureError(f"a worker could not be set up: {reply.kind}: {reply.message}")
    return reply


class Recruit:
    """A worker that nothing was asked of yet but to meet its group. `ledger`: a rank's."""

    def __init__(self, worker: int, port: AnyPort) -> None:
        self.worker, self.port = worker, port
        self.ledger: SharedLedger | None = None
        self._is_up = isinstance(port, InlinePort)
        self._has_met = True

    def meet(self, command: JoinGroup) -> None:
        """Tell it to become a rank; `wait` waits for it: all of them must have been told
        before any can answer."""
        if isinstance(self.port, InlinePort):
            raise InfrastructureError("ranks need processes of their own")
        self.ledger, self._has_met = SharedLedger(), False
        # One that is gone already is met when it should answer.
        with contextlib.suppress(Closed):
            self.port.wire.send(command, (self.ledger.descriptor,))

    def wait(self) -> None:
        """Until it is up, and has met. Raises InfrastructureError."""
        port = self.port
        if isinstance(port, ProcessPort) and not self._is_up:
            trusting(lambda: port.greeting(_COMES_UP))
            self._is_up = True
        if isinstance(port, ProcessPort) and not self._has_met:
            trusting(lambda: port.wire.receive(_MEETS))
            self._has_met = True

    def close(self) -> None:
        if isinstance(self.port, ProcessPort):
            self.port.wire.close()
        if self.ledger is not None:
            self.ledger.close()


class Recruits:
    """Those of one group after the other: `ranks` workers each, which meet in a directory of
    the examination's own. `dismiss` must be called in the end."""

    def __init__(self, keeper: Keeper, ranks: int, directory: str, seed: int) -> None:
        self.keeper, self.ranks, self.directory, self.seed = keeper, ranks, directory, seed
        self._called: list[Recruit] = []

    def call(self) -> None:
        """Start the next ones, where none have been called; nobody is waited for."""
        if self._called:
            return
        try:
            for rank in range(self.ranks):
                self._called.append(Recruit(*self.keeper.start(rank)))
        except BaseException:
            # A part of a group would be taken for a whole one.
            self.dismiss()
            raise
        if self.ranks == 1:
            return
        # A new place for each group: what an earlier one left there would be believed.
        meeting = str(Path(self.directory) / f"meeting-{secrets.token_hex(8)}")
        skew = skew_of(self.seed)
        for rank, recruit in enumerate(self._called):
            recruit.meet(JoinGroup(rank=rank, world=self.ranks, meeting=meeting, skew=skew))

    def take(self) -> list[Recruit]:
        """A whole group, ready. Raises InfrastructureError."""
        self.call()
        self.settle()
        taken, self._called = self._called, []
        return taken

    def settle(self) -> None:
        """Wait until those that were called are ready. Raises InfrastructureError: then none
        of them is left."""
        try:
            for recruit in self._called:
                recruit.wait()
        except InfrastructureError:
            self.dismiss()
            raise

    def dismiss(self) -> None:
        """End those that nobody took."""
        called, self._called = self._called, []
        self.end(called)

    def end(self, recruits: Sequence[Recruit]) -> None:
        """End some that were never arranged."""
        for recruit in recruits:
            recruit.close()
            self.keeper.end(recruit.worker, False, True)
