"""What counts as right: published correctness, and structure beside it."""

import math

import torch

from cacheon.contract.case import Case
from cacheon.contract.slots.model import ROW_ERROR, Slot
from cacheon.engine.grader.compare.blocks import judge_blocks, lost, measure_blocks, rank
from cacheon.engine.grader.compare.cells import (
    judge_cells,
    measure_cells,
    no_accident,
    relative_errors,
)
from cacheon.engine.grader.compare.measured import Measured

__all__ = ["Measured", "differs", "measure", "no_accident"]

AT_ONCE = {"cpu": 1 << 18, "cuda": 1 << 26}
"""Answers are measured together up to so many cells. On a GPU that bounds the temporaries
to about 1.5 GiB; on a CPU they stay in its cache, where launches cost next to nothing."""


def measure(
    slot: Slot, case: Case, output: str, expected: torch.Tensor, actual: torch.Tensor
) -> tuple[list[Measured], torch.Tensor]:
    """Hold N answers of one output against what is expected.

    `expected` (N, *shape) in float64 or float32, as the reference returns it, `actual`
    (N, *shape) in the output's dtype and of any layout, both on one device. Returns one
    `Measured` an answer, and the cells that are out of tolerance (for scores: that are
    NaN, +inf, -inf where visible or finite where not) as bool (N, *shape), on the device.
    Everything the host learns comes in one transfer.
    """
    count, shape = actual.shape[0], tuple(actual.shape[1:])
    dtype = str(case.descriptor["dtype"])
    by_blocks = slot.correctness.rule == "topk_overlap"
    step = max(1, AT_ONCE[actual.device.type] // max(1, math.prod(shape)))
    numbers, masks = [], []
    for start in range(0, count, step):
        want, got = expected[start : start + step], actual[start : start + step]
        if by_blocks:
            some, mask = measure_blocks(want, got, slot.correctness.k)
        else:
            some, mask = measure_cells(want, got, dtype)
        numbers.append(some)
        masks.append(mask)
    rows: list[list[float]] = _joined(numbers).tolist()
    if by_blocks:
        found = [judge_blocks(row, shape, slot.correctness) for row in rows]
    else:
        found = [judge_cells(row, shape, slot.correctness, dtype) for row in rows]
    return found, _joined(masks)


def differs(slot: Slot, case: Case, one: torch.Tensor, other: torch.Tensor) -> float:
    """How much two expected answers of one output (each of its shape) differ: the share of
    grains (a row's tile in one head; for scores a row) that could not be taken for each
    other. Where it is 0, an old answer would pass for a new one. One transfer."""
    if slot.correctness.rule == "topk_overlap":
        ranking = rank(one[None], slot.correctness.k)
        moved = lost(ranking, other[None].to(one.dtype)) > 0
        changed = moved | ((other > -math.inf) != ranking.visible).any(-1)
        return float(changed.double().mean())
    limit = ROW_ERROR[str(case.descriptor["dtype"])]
    error = relative_errors((other.to(one.dtype) - one).abs(), one)
    return float((error > limit).double().mean())


def _joined(parts: list[torch.Tensor]) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
