"""Rehearsal: on a CPU the entry's tensor operations are recorded and walked again.

It shows on a laptop most of what a capture would: host reads, values and pointers that
were fixed at the first call, workspaces that were replaced. It is never evidence.
"""

import contextlib
import gc
import mmap
import random
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from cacheon.engine.ledger import Ledger
from cacheon.engine.plan import CallPlan
from cacheon.engine.slab import Slab
from cacheon.engine.worker.backends.canaries import Canaries
from cacheon.engine.worker.backends.port import Bound, Captured, Entry, Failure
from cacheon.engine.worker.backends.recording import (
    Fence,
    Fenced,
    NeedsCuda,
    Recording,
    Span,
    Violation,
    Watch,
    answering_cuda,
)
from cacheon.engine.worker.waits import Waits

_LARGEST_CANARY = 1 << 22
"""Bytes; freed host memory of such sizes is what the C allocator hands out next."""
_LATE, _LATEST = 0.25, 0.002
"""How often a rank is late for a call, and by how many seconds at most."""


class Tape(NamedTuple):
    """A recorded call. The recording holds its arguments weakly, as a graph holds
    addresses; what keeps the examiner's own buffers alive is `arguments`."""

    plan: CallPlan
    recording: Recording
    arguments: list[object]


class Rehearsal:
    name = "rehearsal"

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self._recording = False
        self._tapes: dict[int, list[Tape]] = {}
        self._siblings: list[list[Tape]] = []
        self._canaries = Canaries("cpu")
        self._delays: random.Random | None = None
        self._ledger: Ledger | None = None
        self._outputs: set[Span] = set()
        self.waits = Waits()
        self._answers = answering_cuda(lambda: self._recording)
        self._answers.__enter__()

    def make_slab(self, nbytes: int, memfd: int) -> tuple[Slab, bytes]:
        self._mapping = mmap.mmap(memfd, nbytes)
        address = torch.frombuffer(self._mapping, dtype=torch.uint8).data_ptr()
        return Slab(address, nbytes, self.device), b""

    def make_pieces(self, nbytes: int, starts: Sequence[int]) -> tuple[Slab, tuple[bytes, ...]]:
        # Nobody exports a CPU's memory: one mapping does.
        return self.make_slab(nbytes, -1)[0], ()

    def arrange(self, slab: Slab, counter: int) -> None:
        self._slab = slab
        self._counter = slab.words(counter, 8)

    def join(self, rank: int, skew: int, ledger: Ledger) -> None:
        self._delays, self._ledger = random.Random(f"{skew}:{rank}"), ledger

    def warm(self, calls: Sequence[Bound], entry: Entry) -> None:
        self.waits.places.clear()
        for call in calls:
            for watched in (False, True):
                self._produce(call.plan, 0)
                self._guarded(entry, call, watched)

    def eager(self, call: Bound, entry: Entry, times: int, delay: bool) -> bool:
        returned = False
        for _ in range(times):
            self._produce(call.plan, 0)
            returned |= self._guarded(entry, call) is not None
            self._consume(call.plan, 0)
        return returned

    def capture(self, case: int, calls: Sequence[Bound], entry: Entry, sibling: bool) -> Captured:
        tapes = [self._record(call, entry) for call in calls]
        if sibling:
            self._siblings.append(tapes)
        else:
            self._tapes[case] = tapes
        steps = tuple(tape.recording.steps for tape in tapes)
        return Captured(steps, {}, (), sum(steps))

    def recapture(self, calls: Sequence[Bound], entry: Entry, times: int) -> None:
        for _ in range(times):
            for call in calls:
                self._record(call, entry)

    def replay(self, case: int, times: int) -> None:
        for _ in range(times):
            turn = int(self._counter.item())
            for tape in self._tapes[case]:
                row = turn % tape.plan.rows
                self._lag()
                self._produce(tape.plan, row)
                try:
                    tape.recording.replay()
                except Violation as error:
                    raise Failure(error.rule, error.message) from error
                self._consume(tape.plan, row)
                if self._ledger is not None:
                    self._ledger.next_call()
            self._counter.add_(1)

    def collect(self) -> None:
        gc.collect()

    def drop_siblings(self) -> None:
        self._siblings.clear()

    def refill(self) -> None:
        sizes = [1 << power for power in range(10, _LARGEST_CANARY.bit_length()) for _ in range(4)]
        self._canaries.take(sizes)

    def inspect(self) -> None:
        self._canaries.inspect()

    def release(self) -> None:
        self._canaries.release()

    def is_lost(self, error: BaseException) -> bool:
        return False

    def _lag(self) -> None:
        """A rank is late, now and then, and not always the same one."""
        if self._delays is not None and self._delays.random() < _LATE:
            time.sleep(self._delays.random() * _LATEST)

    def _guarded(self, entry: Entry, call: Bound, watched: bool = False) -> object:
        self._lag()
        note = self._ledger.noting if self._ledger is not None else None
        fenced, arguments = Fenced(self._fence(call.plan), note), call.arguments()
        watch = Watch(arguments, self.waits.note) if watched else contextlib.nullcontext()
        try:
            with fenced, watch:
                returned = entry(*arguments)
            if fenced.first is not None:
                raise fenced.first
            return returned
        except Violation as error:
            raise Failure(error.rule, error.message) from error
        except NeedsCuda as error:
            raise Failure("CG807", str(error), needs_cuda=True) from error

    def _record(self, call: Bound, entry: Entry) -> Tape:
        arguments = call.arguments()
        tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
        note = self._ledger.noting if self._ledger is not None else None
        recording = Recording(tensors, self._fence(call.plan), note)
        self._recording = True
        try:
            recording.record(entry, *arguments)
        except Violation as error:
            raise Failure(error.rule, error.message) from error
        except NeedsCuda as error:
            raise Failure("CG807", str(error), needs_cuda=True) from error
        finally:
            self._recording = False
        return Tape(call.plan, recording, arguments)

    def _fence(self, plan: CallPlan) -> Fence:
        base = self._slab.address
        own = [Span(base + copy.span, base + copy.span + copy.nbytes) for copy in plan.consumers]
        self._outputs.update(own)
        return Fence(Span(base, base + self._slab.nbytes), own, list(self._outputs))

    def _produce(self, plan: CallPlan, row: int) -> None:
        for copy in plan.producers:
            source = self._slab.raw(copy.ring + row * copy.pitch, copy.nbytes)
            self._slab.raw(copy.span, copy.nbytes).copy_(source)

    def _consume(self, plan: CallPlan, row: int) -> None:
        for copy in plan.consumers:
            source = self._slab.raw(copy.span, copy.nbytes)
            self._slab.raw(copy.ring + row * copy.pitch, copy.nbytes).copy_(source)
