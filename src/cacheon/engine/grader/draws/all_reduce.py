"""Draws for collective.all_reduce."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.ranks import by_rank, ranks_of, share
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

OUTLIER = 34.0
"""One value of every row of a sum, in multiples of a contribution's scale, so 24 of two ranks:
who clips sums at 8 or so, or has one scale for a tensor in eight bits, is seen."""
GRAIN = 0.125
"""What lies in the outlier's cell is a multiple of this on every rank, and so is every sum of
it, in whatever order, without a rounding: bfloat16 holds such multiples up to 32. Else
each rank added to a large value would round it, a tile's error would be that of this one cell,
and an honest ring of 16 ranks would fail."""


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """x (ranks, M, H)."""
    return {"x": contributions(case, "x", key, device)}


def contributions(case: Case, name: str, key: DrawKey, device: torch.device) -> torch.Tensor:
    """(ranks, *shape) of a rank-varying activation: normal, zeros of both signs among them,
    near 1 once they are summed, but for one value of every row."""
    spec, ranks = case.tensor(name), ranks_of(case)

    def draw(own: DrawKey) -> torch.Tensor:
        source = Source.of(own, device)
        values = source.normal(name, spec.shape, ELEMENT_TYPES[spec.dtype])
        values.mul_(share(ranks))
        source.scatter_zeros(name, values)
        return values

    parts = by_rank(key, ranks, draw)
    rows = parts.view(ranks, -1, spec.shape[-1])
    for rank in range(ranks):
        column = outlier_column(case, name, key, rank)
        # Of one rank in each row, so that no two of them cancel.
        cells = rows[:, (rank - key.round) % ranks :: ranks, column]
        cells.div_(GRAIN).round_().mul_(GRAIN)
        cells[rank] = round(OUTLIER * share(ranks) / GRAIN) * GRAIN
    return parts


def outlier_column(case: Case, name: str, key: DrawKey, rank: int) -> int:
    """In which column of a rank-varying activation a rank has its large values."""
    width = case.tensor(name).shape[-1]
    return Source.of(key.of_rank(rank), "cpu").pick(f"{name} outlier", width)
