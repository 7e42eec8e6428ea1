"""One worker, its slab, and the ways in which it can be lost."""

import contextlib

import torch

from cacheon.contract.case import Case
from cacheon.contract.slots.model import Slot
from cacheon.engine.grader.buffers import CallBuffers, put
from cacheon.engine.grader.layout import Layout, lay
from cacheon.engine.grader.memory import (
    MappedDeviceMemory,
    OwnMemory,
    SharedMemfd,
)
from cacheon.engine.grader.recruits import Keeper, Recruit, trusting
from cacheon.engine.grader.truth import Truth, of_rank
from cacheon.engine.ledger import Called
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
    Wire,
)
from cacheon.engine.request import Budget
from cacheon.engine.slab import Slab
from cacheon.records.errors import InfrastructureError

_ROOM = 4
"""Slabs that must fit into free memory before two orders share a device: each order's own,
and as much again for what the candidate itself allocates."""
_LEAVE = 2.0
"""Seconds for a worker to leave by itself; one whose child holds its socket never seems to."""


class Refused(Exception):
    """The worker answered a command with an exception of the candidate's. `rank`: whose it
    is where others did not meet it too, else -1."""

    def __init__(self, reply: Raised, stage: Stage, case: int, rank: int = -1) -> None:
        super().__init__(reply.message)
        self.reply, self.stage, self.case, self.rank = reply, stage, case, rank


class Lost(Exception):
    """The worker can answer no more. `how`: died, hung, garbled, its device context is gone
    (`sticky`), or its ranks are out of step (`parted`) after what one of them `refused`.
    `case` is the index of the case it was working on, -1 for none; `rank` whose fault it
    seems to be, -1 where that is not known. `apart`: ranks called different collectives."""

    def __init__(
        self,
        how: str,
        stage: Stage,
        case: int,
        detail: str = "",
        *,
        rank: int = -1,
        refused: Refused | None = None,
        apart: bool = False,
    ) -> None:
        super().__init__(f"{how} in {stage}")
        self.how, self.stage, self.case, self.detail = how, stage, case, detail
        self.rank, self.refused, self.apart = rank, refused, apart


class Session:
    """A worker arranged for some cases. `close` must be called once, whatever happens.

    `rank`: which of the group's it is; on a GPU, the device too."""

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
        rank: int,
        recruit: Recruit,
    ) -> None:
        self.keeper, self.cases, self.budget = keeper, cases, budget
        self.rank, self.home = rank, truth.device
        self.on_cuda = not on_cpu
        self.layout: Layout = lay(slot, cases, larger, rows)
        if self.on_cuda and _ROOM * self.layout.nbytes > torch.cuda.mem_get_info()[0]:
            # Two orders side by side would not fit.
            keeper.quiet()
        self.worker, self.port, self._ledger = recruit.worker, recruit.port, recruit.ledger
        self._memory: SharedMemfd | MappedDeviceMemory | OwnMemory | None = None
        try:
            self._open(on_cpu, apart=slot.kind == "collective")
            self._place_weights(truth, larger)
            self._make_buffers(larger)
        except BaseException:
            self.close()
            raise

    def _open(self, on_cpu: bool, *, apart: bool) -> None:
        nbytes = self.layout.nbytes
        port = self.port
        if isinstance(port, ProcessPort) and on_cpu:
            memfd = SharedMemfd(nbytes)
            self._memory = memfd
            command = MakeSlab(nbytes=nbytes, shared=True)
            reply = trusting(lambda: port.ask(command, 60.0, (memfd.descriptor,)))
        else:
            starts = self.layout.starts if apart else ()
            command = MakeSlab(nbytes=nbytes, starts=starts)
            reply = trusting(lambda: port.ask(command, 60.0))
            if isinstance(port, InlinePort):
                self._memory = OwnMemory(port.slab())
            else:
                handles = reply.handles if starts else (reply.handle,)
                self._memory = MappedDeviceMemory(handles, starts or (0,), nbytes, self.rank)
        trusting(lambda: port.ask(Arrange(plan=self.layout.plan), 60.0))

    def _place_weights(self, truth: Truth, larger: Case | None) -> None:
        slab = self.slab
        for case in (*self.cases, *([larger] if larger else [])):
            for layer in range(3):
                weights = of_rank(case, truth.weights(case, layer), self.rank)
                for name, values in weights.items():
                    shape = case.tensor(name).shape
                    put(slab.tensor(self.layout.weights[name, shape, layer]), values)

    def weight(self, name: str, shape: tuple[int, ...], layer: int) -> torch.Tensor:
        """A weight as it stands in the slab."""
        return self.slab.tensor(self.layout.weights[name, shape, layer])

    def _make_buffers(self, larger: Case | None) -> None:
        plan, home = self.layout.plan, self.home
        self.counter = self.slab.words(plan.counter, 8)
        self.eager: list[tuple[CallBuffers, ...]] = []
        self.captured: list[tuple[CallBuffers, ...]] = []
        for case, calls in zip(self.cases, plan.cases, strict=True):
            self.eager.append(tuple(CallBuffers(self.slab, c, case, home) for c in calls.eager))
            self.captured.append(
                tuple(CallBuffers(self.slab, c, case, home) for c in calls.captured)
            )
        self.larger = None
        if plan.larger is not None and larger is not None:
            self.larger = CallBuffers(self.slab, plan.larger, larger, home)

    def called(self) -> tuple[Called, ...]:
        """The collectives that this rank has called since its last command."""
        return self._ledger.read() if self._ledger is not None else ()

    def tell(self, command: AnyCommand) -> None:
        """Give a rank a command, and wait for nothing. Raises `Closed`, or `Garbled` where it
        spoke before."""
        if self._ledger is not None:
            self._ledger.clear()
        self.wire.expect_silence()
        self.wire.send(command)

    @property
    def wire(self) -> Wire[AnyCommand, AnyReply]:
        """The wire to a worker in a process of its own."""
        if not isinstance(self.port, ProcessPort):
            raise InfrastructureError("ranks need processes of their own")
        return self.port.wire

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

    def close(self, *, hung: bool = False, killed: bool = False) -> Ended:
        """End the worker and unmap its slab; how it ended. Only one that neither `hung` nor
        is to be `killed` is given time to leave."""
        if not hung and not killed and isinstance(self.port, ProcessPort):
            self.dismiss()
            # The end of the stream says that it left by itself.
            with contextlib.suppress(Closed, Garbled, TooSlow):
                self.port.wire.receive(_LEAVE)
        ended = self.keeper.end(self.worker, hung, killed)
        if isinstance(self.port, ProcessPort):
            self.port.wire.close()
        if self._memory is not None:
            self._memory.close()
        if self._ledger is not None:
            self._ledger.close()
        return ended
