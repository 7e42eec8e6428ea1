"""Draws for collective.all_reduce."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.ranks import by_rank, ranks_of, share
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

OUTLIER = 34.0
"""One value of every row of a sum, in multiples of a contribution's scale, so 24 of two ranks:
who clips sums at 8 or so, or has one scale for a tensor in eight bits, is seen. Beside it the
roundings of a ring of 32 bfloat16 additions stay within tolerance."""


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
        values = source.normal(name, spec.shape, ELEMENT_TYPES[spec.dtype]).mul_(share(ranks))
        source.scatter_zeros(name, values)
        # Of one rank in each row, so that no two of them cancel.
        rows = values.view(-1, spec.shape[-1])[(own.rank - own.round) % ranks :: ranks]
        rows[:, source.pick(f"{name} outlier", spec.shape[-1])] = OUTLIER * share(ranks)
        return values

    return by_rank(key, ranks, draw)
