"""Draws for norm.rmsnorm: rows of very different scales, some whose mean is not zero, some
with one value that towers above the others, and weights of both signs."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

SMALL, LARGE = 1e-3, 1e3
"""mean x² of a small row is eps: without eps the answer grows by a factor 1.41. In a
large row a square that is kept in float16 overflows."""
OFFSET = 1.0
"""Added to every third row: where the mean is zero, the variance is mean x²."""
OUTLIER = 24.0
"""One value of every row that is not small, in multiples of the row's scale: who clips what
is normalized, at 8 or so, is seen. In a large row float16 still holds it."""
NEGATIVE_STRIDE, WIDE_STRIDE, WIDE = 5, 17, 4.0
"""One weight in so many is negative, one in so many four times as large."""


def weights(
    shapes: dict[str, tuple[int, ...]], dtype: torch.dtype, source: Source
) -> dict[str, torch.Tensor]:
    """weight (H), far enough from 1 that leaving it out shows, and not all positive."""
    weight = source.uniform("weight", shapes["weight"], 0.5, 1.5, dtype)
    weight[source.pick("negative", NEGATIVE_STRIDE) :: NEGATIVE_STRIDE].neg_()
    weight[source.pick("wide", WIDE_STRIDE) :: WIDE_STRIDE].mul_(WIDE)
    return {"weight": weight}


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """x (T, H).

    Row i of round r has the scale 1e-3 where i + r is even, else 1 or 1e3 in turn: every
    row, also an only one, is a small row in one of any two consecutive rounds. Every third
    row, beginning at another one in each round, has a mean of about its scale. One column
    of the rows that are not small holds an outlier, another column in each round.
    """
    spec = case.tensor("x")
    source = Source.of(key, device)
    x = source.normal("x", spec.shape, ELEMENT_TYPES[spec.dtype])
    source.scatter_zeros("x", x)
    x[-key.round % 3 :: 3].add_(OFFSET)
    x[(key.round + 1) % 2 :: 2, source.pick("outlier", spec.shape[1])] = OUTLIER
    row_scales(x, key.round)
    return {"x": x}


def row_scales(x: torch.Tensor, turn: int) -> None:
    """Scale the rows of x (rows, H) in place: 1e-3, 1, 1e-3, 1e3, and again, beginning at
    `turn`."""
    first = -turn % 4
    x[first % 2 :: 2].mul_(SMALL)
    x[(first + 3) % 4 :: 4].mul_(LARGE)
