"""Draws for collective.all_reduce."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.ranks import by_rank, ranks_of, share
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """x (ranks, M, H)."""
    return {"x": contributions(case, "x", key, device)}


def contributions(case: Case, name: str, key: DrawKey, device: torch.device) -> torch.Tensor:
    """(ranks, *shape) of a rank-varying activation: normal, zeros of both signs among them,
    near 1 once they are summed."""
    spec, ranks = case.tensor(name), ranks_of(case)

    def draw(own: DrawKey) -> torch.Tensor:
        source = Source.of(own, device)
        values = source.normal(name, spec.shape, ELEMENT_TYPES[spec.dtype]).mul_(share(ranks))
        source.scatter_zeros(name, values)
        return values

    return by_rank(key, ranks, draw)
