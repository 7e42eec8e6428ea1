"""One worker, its slab, and the ways in which it can be lost."""

import contextlib
from collections.abc import Callable
from typing import Protocol

import torch

from cacheon.contract.case import Case
from cacheon.contract.slots.model import Slot
from cacheon.engine.grader.buffers import CallBuffers
from cacheon.engine.grader.layout import Layout, lay
from cacheon.engine.grader.memory import MappedDeviceMemory, OwnMemory, SharedMemfd
from cacheon.engine.grader.truth import Truth
from cacheon.engine.outcome import Stage
from cacheon.engine.protocol import (
    AnyCommand,
    AnyReply,
    Arrange,
    Closed,
    Done,
    Ended,
    Garbled,
    InlinePort,
    MakeSlab,
    ProcessPort,
    Raised,
    Stop,
    TooSlow,
)
from cacheon.engine.request import Budget
from cacheon.engine.slab import Slab
from cacheon.records.errors import InfrastructureError

_ROOM = 4
"""Slabs that must fit into free memory before two orders share a device: each order's own,
and as much again for what the candidate itself allocates."""
_COMES_UP = 60.0
"""Seconds for a worker to make its device context."""
_LEAVE = 2.0
"""Seconds for a worker to leave by itself; one whose child holds its socket never seems to."""


class Lost(Exception):
    """The worker can answer no more. `how`: died, hung, garbled, or its device context is
    gone (`sticky`). `case` is the index of the case it was working on, -1 for none."""

    def __init__(self, how: str, stage: Stage, case: int, detail: str = "") -> None:
        super().__init__(f"{how} in {stage}")
        self.how, self.stage, self.case, self.detail = how, stage, case, detail


class Refused(Exception):
    """The worker answered a command with an exception of the candidate's."""

    def __init__(self, reply: Raised, stage: Stage, case: int) -> None:
        super().__init__(reply.message)
        self.reply, self.stage, self.case = reply, stage, case


class Keeper(Protocol):
    """Who starts and ends workers: the host, over its socket."""

    def start(self) -> tuple[int, ProcessPort | InlinePort]:
        """A fresh worker's number, and the port to it."""
        ...

    def end(self, worker: int, hung: bool) -> Ended: ...

    def quiet(self) -> None:
        """Wait until nothing else of this examination uses the device; it stays so until
        this grader is done with the variant."""
        ...


class Session:
    """A worker arranged for some cases. `close` must be called once, whatever happens."""

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
    ) -> None:
        self.keeper, self.cases, self.budget = keeper, cases, budget
        self.on_cuda = not on_cpu
        self.layout: Layout = lay(slot, cases, larger, rows)
        if self.on_cuda and _ROOM * self.layout.nbytes > torch.cuda.mem_get_info()[0]:
            # Two orders side by side would not fit.
            keeper.quiet()
        self.worker, self.port = keeper.start()
        self._memory: SharedMemfd | MappedDeviceMemory | OwnMemory | None = None
        try:
            self._open(on_cpu)
            self._place_weights(truth, larger)
            self._make_buffers(larger)
        except BaseException:
            self.close()
            raise

    def _open(self, on_cpu: bool) -> None:
        nbytes = self.layout.nbytes
        port = self.port
        if isinstance(port, ProcessPort):
            self._trusting(lambda: port.greeting(_COMES_UP))
        if isinstance(port, ProcessPort) and on_cpu:
            memfd = SharedMemfd(nbytes)
            self._memory = memfd
            command = MakeSlab(nbytes=nbytes, shared=True)
            reply = self._trusting(lambda: port.ask(command, 60.0, (memfd.descriptor,)))
        else:
            reply = self._trusting(lambda: port.ask(MakeSlab(nbytes=nbytes), 60.0))
            if isinstance(port, InlinePort):
                self._memory = OwnMemory(port.slab())
            else:
                self._memory = MappedDeviceMemory(reply.handle, nbytes)
        self._trusting(lambda: port.ask(Arrange(plan=self.layout.plan), 60.0))

    def _trusting(self, ask: Callable[[], AnyReply]) -> Done:
        """An exchange before any candidate is loaded: whatever fails is infrastructure."""
        try:
            reply = ask()
        except (Closed, Garbled, TooSlow) as error:
            raise InfrastructureError(
                f"a worker was lost before it loaded a candidate: {error!r}"
            ) from error
        if isinstance(reply, Raised):
            raise InfrastructureError(
                f"a worker could not be set up: {reply.kind}: {reply.message}"
            )
        return reply

    def _place_weights(self, truth: Truth, larger: Case | None) -> None:
        slab = self.slab
        for case in (*self.cases, *([larger] if larger else [])):
            for layer in range(3):
                for name, values in truth.weights(case, layer).items():
                    shape = case.tensor(name).shape
                    slab.tensor(self.layout.weights[name, shape, layer]).copy_(values)

    def weight(self, name: str, shape: tuple[int, ...], layer: int) -> torch.Tensor:
        """A weight as it stands in the slab."""
        return self.slab.tensor(self.layout.weights[name, shape, layer])

    def _make_buffers(self, larger: Case | None) -> None:
        plan = self.layout.plan
        self.counter = self.slab.words(plan.counter, 8)
        self.eager: list[tuple[CallBuffers, ...]] = []
        self.captured: list[tuple[CallBuffers, ...]] = []
        for case, calls in zip(self.cases, plan.cases, strict=True):
            self.eager.append(tuple(CallBuffers(self.slab, c, case) for c in calls.eager))
            self.captured.append(tuple(CallBuffers(self.slab, c, case) for c in calls.captured))
        self.larger = None
        if plan.larger is not None and larger is not None:
            self.larger = CallBuffers(self.slab, plan.larger, larger)

    @property
    def slab(self) -> Slab:
        if self._memory is None:
            raise InfrastructureError("the worker has no slab")
        return self._memory.slab

    def ask(self, command: AnyCommand, stage: Stage, case: int, *, compiles: bool = False) -> Done:
        """Have a command carried out. Raises `Lost` or `Refused`."""
        seconds = self.budget.compile if compiles else self.budget.command
        try:
            reply = self.port.ask(command, seconds)
        except TooSlow:
            raise Lost("hung", stage, case, f"no answer within {seconds:g} s") from None
        except Closed:
            raise Lost("died", stage, case) from None
        except Garbled as error:
            raise Lost("garbled", stage, case, str(error)) from None
        if isinstance(reply, Raised):
            if reply.sticky:
                raise Lost("sticky", stage, case, f"{reply.kind}: {reply.message}")
            raise Refused(reply, stage, case)
        return reply

    def dismiss(self) -> None:
        """Tell the worker to leave, without waiting until it has: taking a device context
        down takes its time. `close` must follow."""
        if isinstance(self.port, ProcessPort):
            with contextlib.suppress(Closed):
                self.port.wire.send(Stop())

    def close(self, *, hung: bool = False) -> Ended:
        """End the worker and unmap its slab; how it ended."""
        if not hung and isinstance(self.port, ProcessPort):
            self.dismiss()
            # The end of the stream says that it left by itself.
            with contextlib.suppress(Closed, Garbled, TooSlow):
                self.port.wire.receive(_LEAVE)
        ended = self.keeper.end(self.worker, hung)
        if isinstance(self.port, ProcessPort):
            self.port.wire.close()
        if self._memory is not None:
            self._memory.close()
        return ended
