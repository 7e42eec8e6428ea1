"""What counts as right: published correctness, and structure beside it."""

import math
from collections.abc import Sequence

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

__all__ = ["Measured", "differs", "gauge", "measure", "no_accident", "verdicts"]

AT_ONCE = {"cpu": 1 << 18, "cuda": 1 << 26}
"""Answers are measured together up to so many cells. On a GPU that bounds the temporaries
to about 1.5 GiB; on a CPU they stay in its cache, where launches cost next to nothing."""


def measure(
    slot: Slot, case: Case, expected: torch.Tensor, actual: torch.Tensor
) -> tuple[list[Measured], torch.Tensor]:
    """Hold N answers of one output against what is expected, both as `gauge` takes them: one
    `Measured` an answer, and the cells that it finds wrong. One transfer."""
    numbers, wrong = gauge(slot, case, expected, actual)
    return verdicts(slot, case, actual, numbers.flatten().tolist()), wrong


def gauge(
    slot: Slot, case: Case, expected: torch.Tensor, actual: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers that `verdicts` reads, float64 (N, numbers), and the cells that are out of
    tolerance (for scores: that are NaN, +inf, -inf where visible or finite where not), bool
    (N, *shape). Both stay on the device.

    `expected` (N, *shape) in float64 or float32, as the reference returns it, `actual`
    (N, *shape) in the output's dtype and of any layout, both on one device.
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
    return _joined(numbers), _joined(masks)


def verdicts(
    slot: Slot, case: Case, actual: torch.Tensor, numbers: Sequence[float]
) -> list[Measured]:
    """The verdict on each of the answers that were gauged, from the numbers of all of them, one
    after the other. Of the answers only the shape is looked at."""
    shape, dtype = tuple(actual.shape[1:]), str(case.descriptor["dtype"])
    width = len(numbers) // len(actual)
    rows = [numbers[start : start + width] for start in range(0, len(numbers), width)]
    if slot.correctness.rule == "topk_overlap":
        return [judge_blocks(row, shape, slot.correctness) for row in rows]
    return [judge_cells(row, shape, slot.correctness, dtype) for row in rows]


def differs(slot: Slot, case: Case, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """How much two expected answers of one output (each of its shape) differ: the share of
    grains (a row's tile in one head; for scores a row) that could not be taken for each
    other, float64 (), on their device. Where it is 0, an old answer would pass for a new
    one."""
    if slot.correctness.rule == "topk_overlap":
        ranking = rank(one[None], slot.correctness.k)
        moved = lost(ranking, other[None].to(one.dtype)) > 0
        changed = moved | ((other > -math.inf) != ranking.visible).any(-1)
        return changed.double().mean()
    limit = ROW_ERROR[str(case.descriptor["dtype"])]
    error = relative_errors((other.to(one.dtype) - one).abs(), one)
    return (error > limit).double().mean()


def _joined(parts: list[torch.Tensor]) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
