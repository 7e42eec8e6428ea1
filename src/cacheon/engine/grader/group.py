"""The workers of a variant: one, or one a rank, each command given to all before any answer
is waited for.

A watchdog holds every command to its deadline and knows which rank sits in which collective:
where one never comes to what the others wait for, all are ended, and what is said names who
waited for whom. The next case gets a fresh group.
"""

import random
import select
import time
from collections.abc import Sequence

import msgspec
import torch

from cacheon.contract.case import Case
from cacheon.contract.slots.model import Slot
from cacheon.engine.grader.everywhere import Everywhere
from cacheon.engine.grader.recruits import Keeper, Recruits
from cacheon.engine.grader.session import Lost, Refused, Session
from cacheon.engine.grader.truth import Truth
from cacheon.engine.grader.waiting import Heard, Parting, missing, parting
from cacheon.engine.ledger import Called
from cacheon.engine.outcome import Stage
from cacheon.engine.protocol import (
    AnyCommand,
    Call,
    Capture,
    Closed,
    Done,
    Ended,
    Garbled,
    Raised,
    Replay,
    TooSlow,
    Warm,
)
from cacheon.engine.request import Budget

_GRACE = 2.0
"""Seconds that the other ranks get once one has answered with anything but success: it may
be what they wait for."""
_SKEW = (0.0, 0.0, 0.002, 0.005, 0.015)
"""Seconds by which a rank may be told later than the one before it."""


class Group:
    """Every worker arranged for the same cases. `close` must be called once."""

    def __init__(
        self,
        keeper: Keeper,
        slot: Slot,
        cases: tuple[Case, ...],
        larger: Case | None,
        rows: tuple[int, ...],
        budget: Budget,
        truth: Truth,
        on_cpu: bool,
        recruits: Recruits,
    ) -> None:
        self.keeper, self.cases, self.budget = keeper, cases, budget
        self.on_cuda = not on_cpu
        self.recruits = recruits
        self.random = random.Random(f"{recruits.seed}:arrival")
        self.sessions: list[Session] = []
        self._captured_calls: dict[int, list[tuple[Called, ...]]] = {}
        taken = recruits.take()
        try:
            for rank, recruit in enumerate(taken):
                self.sessions.append(
                    Session(
                        keeper,
                        slot,
                        cases,
                        larger,
                        rows,
                        budget,
                        truth,
                        on_cpu,
                        rank,
                        recruit,
                    )
                )
        except BaseException:
            for session in self.sessions:
                session.close(killed=True)
            # The one that could not be opened has closed itself.
            recruits.end(taken[len(self.sessions) + 1 :])
            raise
        self.layout = self.sessions[0].layout
        self.eager = [
            tuple(map(Everywhere, zip(*(s.eager[i] for s in self.sessions), strict=True)))
            for i in range(len(cases))
        ]
        self.captured = [
            tuple(map(Everywhere, zip(*(s.captured[i] for s in self.sessions), strict=True)))
            for i in range(len(cases))
        ]
        largest = [s.larger for s in self.sessions if s.larger is not None]
        self.larger = Everywhere(largest) if largest else None

    @property
    def ranks(self) -> int:
        return len(self.sessions)

    def weight(self, rank: int, name: str, shape: tuple[int, ...], layer: int) -> torch.Tensor:
        """A weight as it stands in a rank's slab."""
        return self.sessions[rank].weight(name, shape, layer)

    def restart_counter(self) -> None:
        for session in self.sessions:
            session.counter.zero_()

    def wait(self) -> None:
        """What the grader wrote must have arrived before a worker reads it."""
        if self.on_cuda:
            for rank in range(self.ranks):
                torch.cuda.synchronize(rank)

    def quiet(self) -> None:
        """Wait until nothing else of this examination uses the device."""
        self.recruits.settle()
        self.keeper.quiet()

    # --- commands -------------------------------------------------------------------------

    def ask(
        self, command: AnyCommand, stage: Stage, case: int, *, compiles: bool = False
    ) -> tuple[Done, ...]:
        """Have a command carried out by every rank. Raises `Lost` or `Refused`."""
        if self.ranks == 1:
            return (self.sessions[0].ask(command, stage, case, compiles=compiles),)
        seconds = self.budget.compile if compiles else self.budget.command
        heard = self._told(command)
        self._listen(heard, seconds)
        answers = self._understood(heard, stage, case, seconds, command)
        if isinstance(command, Capture) and not command.sibling:
            self._captured_calls[case] = [session.called() for session in self.sessions]
        return answers

    def parting(self) -> Parting | None:
        """Where the ranks called different collectives in their last command."""
        return parting([session.called() for session in self.sessions])

    def _told(self, command: AnyCommand) -> dict[int, Heard]:
        """Tell the ranks, in any order, each a little after the one before. Those that are
        gone already, or speak unasked."""
        gone: dict[int, Heard] = {}
        for rank in self.random.sample(range(self.ranks), self.ranks):
            try:
                self.sessions[rank].tell(command)
            except (Closed, Garbled) as error:
                gone[rank] = Heard(0.0, error)
            time.sleep(self.random.choice(_SKEW))
        return gone

    def _listen(self, heard: dict[int, Heard], seconds: float) -> None:
        """Until every rank has answered, or the deadline is over. Once one has failed the
        others get a moment more."""
        started = time.monotonic()
        deadline = started + seconds
        while len(heard) < self.ranks:
            if any(not isinstance(each.what, Done) for each in heard.values()):
                deadline = min(deadline, time.monotonic() + _GRACE)
            left = deadline - time.monotonic()
            ready = self._readable([r for r in range(self.ranks) if r not in heard], left)
            if not ready:
                return
            for rank in ready:
                after = time.monotonic() - started
                try:
                    # A frame comes in one piece, and whoever sends half of one is hung.
                    reply = self.sessions[rank].wire.receive(max(0.1, left))
                    heard[rank] = Heard(after, reply)
                except (Closed, Garbled, TooSlow) as error:
                    heard[rank] = Heard(after, error)

    def _readable(self, ranks: Sequence[int], seconds: float) -> list[int]:
        poll = select.poll()
        by_descriptor = {}
        for rank in ranks:
            sock = self.sessions[rank].wire.sock
            by_descriptor[sock.fileno()] = rank
            poll.register(sock, select.POLLIN)
        return [by_descriptor[fd] for fd, _ in poll.poll(max(0.0, seconds) * 1000)]

    def _understood(
        self, heard: dict[int, Heard], stage: Stage, case: int, seconds: float, command: AnyCommand
    ) -> tuple[Done, ...]:
        """What the answers come to. The gravest counts, and among equals the first: what a
        rank meets because another is gone comes after it.

        1. A rank is gone, or makes no sense, or has lost its device. Where ranks met in
        different collectives, whichever of them that killed is no more to blame. 2. Every
        rank refused: they are still in step, where they had called the same until then. 3. Some
        refused: they are not. 4. Some never answered. 5. They called different collectives and
        carried them out."""
        in_time = sorted(heard, key=lambda rank: heard[rank].after)
        # 1.
        for kind, how in ((Closed, "died"), (Garbled, "garbled")):
            for rank in in_time:
                what = heard[rank].what
                if isinstance(what, kind):
                    apart = self.parting()
                    if how == "died" and apart is not None and all(apart.whats):
                        words = f"{apart.words}; the process of rank {rank} did not survive it"
                        raise Lost("parted", stage, case, words, apart=True)
                    detail = str(what) if how == "garbled" else ""
                    raise Lost(how, stage, case, detail, rank=rank)
        refused = [rank for rank in in_time if isinstance(heard[rank].what, Raised)]
        # A rank that only needs a GPU hides no other's fault.
        refused.sort(key=lambda rank: getattr(heard[rank].what, "needs_cuda", False))
        for rank in refused:
            what = heard[rank].what
            if isinstance(what, Raised) and what.sticky:
                detail = f"{what.kind}: {what.message}"
                raise Lost("sticky", stage, case, detail, rank=rank)
        # 2.
        first = heard[refused[0]].what if refused else None
        if isinstance(first, Raised):
            if len(refused) == self.ranks and all(
                _alike(first, heard[rank].what) for rank in refused
            ):
                refusal = Refused(first, stage, case)
                if isinstance(command, Warm | Call) and self.parting() is not None:
                    # On a GPU one may have begun what another did not: the next step would hang.
                    raise Lost("parted", stage, case, refused=refusal)
                raise refusal
            # 3.
            refusal = Refused(first, stage, case, refused[0])
            raise Lost("parted", stage, case, rank=refused[0], refused=refusal)
        # 4.
        called = [session.called() for session in self.sessions]
        in_graph = self.on_cuda and isinstance(command, Replay)
        if in_graph:
            called = self._captured_calls.get(case, called)
        silent = [
            rank
            for rank in range(self.ranks)
            if rank not in heard or isinstance(heard[rank].what, TooSlow)
        ]
        if silent:
            found = missing(silent, heard, called, seconds, in_graph=in_graph)
            raise Lost("hung", stage, case, found.words, rank=found.rank, apart=found.apart)
        # 5.
        parted = parting(called)
        # What a capture calls is not carried out: ranks that differ there are still in step.
        if parted is not None and isinstance(command, Warm | Call):
            rank = parted.ranks[1] if parted.odd else -1
            raise Lost("parted", stage, case, parted.words, rank=rank, apart=True)
        return tuple(each.what for _, each in sorted(heard.items()) if isinstance(each.what, Done))

    # --- the end ---------------------------------------------------------------------------

    def dismiss(self) -> None:
        """Tell every worker to leave, without waiting until it has. `close` must follow."""
        for session in self.sessions:
            session.dismiss()

    def close(self, lost: Lost | None = None) -> Ended:
        """End every worker; how the one that `lost` names, or else the first, ended. What
        the others left behind counts too.

        After a loss nobody is waited for but a worker that is gone already. The line of one
        that hangs is asked for while all of them live."""
        hung = lost is not None and lost.how == "hung"
        if self.ranks == 1:
            return self.sessions[0].close(hung=hung)
        told = lost.rank if lost is not None and lost.rank >= 0 else 0
        place = None
        if hung:
            workers = [session.worker for session in self.sessions]
            places = self.keeper.locate(workers)
            shown = next((r for r in (told, *range(self.ranks)) if places[r]), told)
            place = places[shown]
            if lost is not None and place is not None and shown != lost.rank:
                lost.detail = f"{lost.detail}; the line is where rank {shown} waits"
        dead = told if lost is not None and lost.how == "died" else -1
        order = sorted(range(self.ranks), key=lambda rank: rank != dead)
        ended = {
            rank: self.sessions[rank].close(killed=lost is not None and rank != dead)
            for rank in order
        }
        strays = sum(each.strays for each in ended.values())
        return msgspec.structs.replace(ended[told], strays=strays, where=place)


def _alike(one: Raised, other: object) -> bool:
    """Whether two ranks met the same exception at the same line."""
    return isinstance(other, Raised) and (one.kind, one.rule, one.where) == (
        other.kind,
        other.rule,
        other.where,
    )
