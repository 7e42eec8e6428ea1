"""One call's buffers, seen from the grader: stage values, poison, collect answers."""

from collections.abc import Mapping
from typing import NamedTuple

import torch

from cacheon.contract.case import Case, ConcreteTensor
from cacheon.engine.grader.bits import all_nan, filled, in_words, same_bits
from cacheon.engine.grader.layout import nbytes_of
from cacheon.engine.plan import CallPlan, RingCopy
from cacheon.engine.slab import GUARD, GUARD_BYTE, POISON_BYTE, Slab, torch_dtype

Values = Mapping[str, torch.Tensor]


class Output:
    """An output with its guards, and the log its consumer writes."""

    def __init__(self, slab: Slab, tensor: ConcreteTensor, copy: RingCopy, rows: int) -> None:
        self.tensor = tensor
        self.nbytes = nbytes_of(tensor)
        self.region = slab.raw(copy.span, copy.nbytes)
        self.log = slab.raw(copy.ring, rows * copy.pitch).view(rows, copy.pitch)
        self.fresh = self._fresh(copy.nbytes, slab.device)

    def _fresh(self, nbytes: int, device: torch.device) -> torch.Tensor:
        """uint8 (nbytes,): guards and gaps in the guard's pattern, every cell poisoned."""
        image = torch.full((nbytes,), GUARD_BYTE, dtype=torch.uint8, device=device)
        cells = image[GUARD : GUARD + self.nbytes].view(torch_dtype(self.tensor.dtype))
        view = torch.as_strided(cells, self.tensor.shape, self.tensor.strides)
        # Through an integer view of the same width: the poison's bits must arrive as they are.
        width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        integer = cells.view(width[cells.element_size()])
        torch.as_strided(integer, view.shape, view.stride()).fill_(-1)
        return image

    def poison(self) -> None:
        self.region.copy_(self.fresh)
        self.log.fill_(POISON_BYTE)

    def cells(self, rows: torch.Tensor) -> torch.Tensor:
        """(rows, *shape) of the run's dtype over uint8 (rows, nbytes)."""
        inner = rows[:, GUARD : GUARD + self.nbytes].view(torch_dtype(self.tensor.dtype))
        return torch.as_strided(
            inner,
            (rows.shape[0], *self.tensor.shape),
            (inner.stride(0), *self.tensor.strides),
            inner.storage_offset(),
        )

    def guards_intact(self, rows: torch.Tensor) -> torch.Tensor:
        """bool (rows,): no byte outside the output's own cells was written."""
        intact = filled(rows[:, :GUARD], GUARD_BYTE)
        intact &= filled(rows[:, GUARD + self.nbytes :], GUARD_BYTE)
        if len(self.tensor.shape) == 2 and self.tensor.strides[0] > self.tensor.shape[1]:
            intact &= self._gaps(rows).eq(GUARD_BYTE).flatten(1).all(dim=1)
        return intact

    def _gaps(self, rows: torch.Tensor) -> torch.Tensor:
        """uint8 (rows, T - 1, gap): between one row of a pitched output and the next."""
        size = torch_dtype(self.tensor.dtype).itemsize
        height, width = self.tensor.shape
        pitch = self.tensor.strides[0]
        return torch.as_strided(
            rows,
            (rows.shape[0], height - 1, (pitch - width) * size),
            (rows.stride(0), pitch * size, 1),
            rows.storage_offset() + GUARD + width * size,
        )


class Answers(NamedTuple):
    """One output's answers, in the grader's own memory."""

    output: Output
    rows: torch.Tensor
    """uint8 (rows, nbytes): the log."""
    settled: torch.Tensor
    """uint8 (nbytes,): the output itself, once the device was idle."""


class CallBuffers:
    """The buffers of one call of one case, on one rank. `home` is the device on which the
    grader computes: values come from there, and answers are judged there."""

    def __init__(self, slab: Slab, plan: CallPlan, case: Case, home: torch.device) -> None:
        self.case, self.home = case, home
        self.rows = plan.rows
        activations = [t for t in case.tensors if t.role == "activation"]
        outputs = [t for t in case.tensors if t.role == "output"]
        self.inputs: dict[str, torch.Tensor] = {}
        self.staging: dict[str, torch.Tensor] = {}
        for tensor, copy in zip(activations, plan.producers, strict=True):
            self.inputs[tensor.name] = slab.tensor(plan.tensors[tensor.name])
            ring = slab.raw(copy.ring, plan.rows * copy.pitch).view(torch_dtype(tensor.dtype))
            pitch = copy.pitch // torch_dtype(tensor.dtype).itemsize
            shape = (plan.rows, *tensor.shape)
            self.staging[tensor.name] = torch.as_strided(ring, shape, (pitch, *tensor.strides))
        self.outputs = {
            tensor.name: Output(slab, tensor, copy, plan.rows)
            for tensor, copy in zip(outputs, plan.consumers, strict=True)
        }
        self.weights = {
            t.name: slab.tensor(plan.tensors[t.name]) for t in case.tensors if t.role == "weight"
        }

    def stage(self, values: Values) -> None:
        """Put values into the first row of the staging ring."""
        for name, ring in self.staging.items():
            put(ring[0], values[name])

    def stage_everywhere(self, values: Values) -> None:
        """Put the same values into every row of the staging ring."""
        for name, ring in self.staging.items():
            one = values[name].to(ring.device)
            ring.copy_(one.unsqueeze(0).expand_as(ring))

    def stage_rows(self, bank: Values, picks: torch.Tensor) -> None:
        """Fill every row: row j takes entry picks[j] of the bank, (entries, *shape)."""
        for name, ring in self.staging.items():
            rows, entries = _as_words(ring), _as_words(bank[name])
            if rows is not None and entries is not None and ring.device == picks.device:
                torch.index_select(entries, 0, picks, out=rows)
            else:
                put(ring, bank[name].index_select(0, picks))

    def untouched(self, integers: Values) -> torch.Tensor:
        """bool (inputs + outputs,): everything is as `poison` left it, bit for bit; the log
        is not looked at."""
        same = [
            same_bits(tensor, integers[name].to(tensor.device))
            if name in integers
            else all_nan(tensor)
            for name, tensor in self.inputs.items()
        ]
        same += [same_bits(output.region, output.fresh) for output in self.outputs.values()]
        return torch.cat(same)

    def poison(self, integers: Values) -> None:
        """Poison inputs, outputs and log. Integer inputs get other valid values: an index
        out of range would turn a finding into a crash."""
        for name, tensor in self.inputs.items():
            if name in integers:
                put(tensor, integers[name])
            else:
                tensor.fill_(float("nan"))
        for output in self.outputs.values():
            output.poison()

    def collect(self) -> list[Answers]:
        """Copy every output once into memory of our own."""
        return [
            Answers(output, _taken(output.log, self.home), _taken(output.region, self.home))
            for output in self.outputs.values()
        ]

    def inputs_unchanged(self, values: Values) -> torch.Tensor:
        """bool (inputs,): bit for bit what the producer copied in."""
        return torch.cat(
            [same_bits(tensor.to(self.home), values[name]) for name, tensor in self.inputs.items()]
        )


def _as_words(stacked: torch.Tensor) -> torch.Tensor | None:
    """int64 (N, words) over N contiguous tensors, of which a GPU moves twice as many in the
    same time as of two-byte numbers; None where they are no whole words."""
    if not in_words(stacked) or stacked[0].nbytes % 8:
        return None
    return stacked.view(stacked.shape[0], -1).view(torch.int64)


def put(target: torch.Tensor, values: torch.Tensor) -> None:
    """Copy values into memory of a worker's. They are brought to its GPU first: a worker's
    memory is mapped there alone, and a copy that is no plain run of bytes is made by a kernel
    of the GPU that the values come from."""
    target.copy_(values.to(target.device))


def _taken(tensor: torch.Tensor, home: torch.device) -> torch.Tensor:
    """A copy, on the grader's own device."""
    return tensor.to(home, copy=True)
