"""Where everything of an examination lies in a worker's slab.

Set A serves warm-up and the eager check, A' a second eager check at other addresses; B0,
B1 and B2 serve the three calls of a capture and are never seen by the candidate before;
G the larger eager call. The cases of one set are prefix views of one allocation, as a
server slices one static buffer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cacheon.contract.case import Case, ConcreteTensor
from cacheon.contract.slots.model import Slot
from cacheon.engine.plan import CallPlan, CasePlan, RingCopy, TensorRef, WorkerPlan
from cacheon.engine.slab import GUARD, padded, torch_dtype

LAYERS = 3
"""Layers' worth of weights: several layers share one function."""
_WORDS = 16
"""Bytes: what is copied is a multiple."""


class Layout(NamedTuple):
    """The plan a worker gets, and how large its slab is, in bytes. `starts`: where
    allocations of their own begin, if inputs and outputs are to have them."""

    plan: WorkerPlan
    nbytes: int
    weights: dict[tuple[str, tuple[int, ...], int], TensorRef]
    starts: tuple[int, ...] = ()


class _Bump:
    """Hands out offsets, each at a multiple of the alignment."""

    def __init__(self) -> None:
        self.end = 0

    def take(self, nbytes: int) -> int:
        offset = self.end
        self.end += padded(max(nbytes, 1))
        return offset


def nbytes_of(tensor: ConcreteTensor) -> int:
    """Bytes from the first to one past the last element."""
    return tensor.span * torch_dtype(tensor.dtype).itemsize


def row_bytes(case: Case) -> int:
    """Bytes that one row of staging and log takes for one call of a case."""
    total = 0
    for tensor in case.tensors:
        if tensor.role == "activation":
            total += padded(nbytes_of(tensor))
        elif tensor.role == "output":
            total += padded(nbytes_of(tensor)) + 2 * GUARD
    return total


def weights_key(case: Case) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """What tells one case's weights from another's: names and shapes."""
    return tuple((t.name, t.shape) for t in case.tensors if t.role == "weight")


class _Set(NamedTuple):
    """Regions of one buffer set by tensor name; outputs start behind their guard."""

    live: dict[str, int]
    ring: dict[str, int]


class _Planner:
    def __init__(
        self, slot: Slot, cases: Sequence[Case], larger: Case | None, rows: Sequence[int]
    ) -> None:
        self.slot, self.cases, self.larger, self.rows = slot, cases, larger, rows
        self.bump = _Bump()
        self.weights: dict[tuple[str, tuple[int, ...], int], TensorRef] = {}
        self.prepares: list[dict[str, TensorRef]] = []
        self.prepared: dict[object, int] = {}
        self.starts = {0}

    def lay(self) -> Layout:
        counter = self.bump.take(16)
        everyone = [*self.cases, *([self.larger] if self.larger else [])]
        for case in everyone:
            self._place_weights(case)
        shared_ring = self._ring([(case, 1) for case in everyone])
        a = _Set(self._live(self.cases), shared_ring)
        a_prime = _Set(self._live(self.cases), shared_ring)
        ranked = list(zip(self.cases, self.rows, strict=True))
        captured = [_Set(self._live(self.cases), self._ring(ranked)) for _ in range(LAYERS)]
        plans = tuple(
            CasePlan(
                warm=tuple(self._call(case, a, layer, 1) for layer in range(LAYERS)),
                eager=(self._call(case, a, 0, 1), self._call(case, a_prime, 1, 1)),
                captured=tuple(
                    self._call(case, captured[layer], layer, rows) for layer in range(LAYERS)
                ),
            )
            for case, rows in ranked
        )
        larger = None
        if self.larger is not None:
            larger = self._call(self.larger, _Set(self._live([self.larger]), shared_ring), 0, 1)
        plan = WorkerPlan(
            entry=self.slot.entry,
            prepare=self.slot.prepare,
            counter=counter,
            cases=plans,
            larger=larger,
            prepares=tuple(self.prepares),
        )
        starts = tuple(sorted(self.starts - {self.bump.end}))
        return Layout(plan, self.bump.end, self.weights, starts)

    def _place_weights(self, case: Case) -> None:
        for layer in range(LAYERS):
            refs = {}
            for tensor in case.tensors:
                if tensor.role != "weight":
                    continue
                key = (tensor.name, tensor.shape, layer)
                if key not in self.weights:
                    offset = self.bump.take(nbytes_of(tensor))
                    self.weights[key] = _ref(tensor, offset)
                refs[tensor.name] = self.weights[key]
            if self.slot.prepare and (weights_key(case), layer) not in self.prepared:
                self.prepared[weights_key(case), layer] = len(self.prepares)
                self.prepares.append({name: refs[name] for name in self.slot.prepare})

    def _live(self, cases: Sequence[Case]) -> dict[str, int]:
        live = {}
        for name, role, nbytes in _largest(cases):
            # Custom collectives export their inputs and outputs: each begins an allocation,
            # and whatever comes next begins another.
            self.starts.add(self.bump.end)
            if role == "activation":
                live[name] = self.bump.take(nbytes)
            elif role == "output":
                live[name] = self.bump.take(padded(nbytes) + 2 * GUARD) + GUARD
        self.starts.add(self.bump.end)
        return live

    def _ring(self, ranked: Sequence[tuple[Case, int]]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for case, rows in ranked:
            for tensor in case.tensors:
                if tensor.role != "weight":
                    size = rows * _pitch(tensor)
                    sizes[tensor.name] = max(size, sizes.get(tensor.name, 0))
        return {name: self.bump.take(size) for name, size in sizes.items()}

    def _call(self, case: Case, buffers: _Set, layer: int, rows: int) -> CallPlan:
        tensors, producers, consumers = {}, [], []
        for tensor in case.tensors:
            if tensor.role == "weight":
                tensors[tensor.name] = self.weights[tensor.name, tensor.shape, layer]
                continue
            offset = buffers.live[tensor.name]
            tensors[tensor.name] = _ref(tensor, offset)
            ring, pitch = buffers.ring[tensor.name], _pitch(tensor)
            if tensor.role == "activation":
                nbytes = -(-nbytes_of(tensor) // _WORDS) * _WORDS
                producers.append(RingCopy(ring=ring, span=offset, nbytes=nbytes, pitch=pitch))
            else:
                copy = RingCopy(ring=ring, span=offset - GUARD, nbytes=pitch, pitch=pitch)
                consumers.append(copy)
        return CallPlan(
            tensors=tensors,
            scalars=case.scalars,
            producers=tuple(producers),
            consumers=tuple(consumers),
            rows=rows,
            prepared=self.prepared.get((weights_key(case), layer), -1),
        )


def lay(slot: Slot, cases: Sequence[Case], larger: Case | None, rows: Sequence[int]) -> Layout:
    """The layout of an examination: `rows[i]` is the depth of case i's ring."""
    return _Planner(slot, cases, larger, rows).lay()


def _ref(tensor: ConcreteTensor, offset: int) -> TensorRef:
    return TensorRef(offset=offset, dtype=tensor.dtype, shape=tensor.shape, strides=tensor.strides)


def _pitch(tensor: ConcreteTensor) -> int:
    """Bytes from one ring row to the next."""
    guards = 2 * GUARD if tensor.role == "output" else 0
    return padded(nbytes_of(tensor)) + guards


def _largest(cases: Sequence[Case]) -> list[tuple[str, str, int]]:
    """Name, role and greatest size in bytes of each tensor over the cases."""
    found: dict[str, tuple[str, int]] = {}
    for case in cases:
        for tensor in case.tensors:
            known = found.get(tensor.name, (tensor.role, 0))[1]
            found[tensor.name] = (tensor.role, max(known, nbytes_of(tensor)))
    return [(name, role, nbytes) for name, (role, nbytes) in found.items()]
