"""Draws for collective.ar_residual_rmsnorm: small rows, where eps shows, beside others."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws import rmsnorm
from cacheon.engine.grader.draws.all_reduce import contributions
from cacheon.engine.grader.draws.ranks import SMALL, small_rows
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

weights = rmsnorm.weights


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """x (ranks, M, H), residual (M, H)."""
    x, residual = contributions(case, "x", key, device), residual_of(case, key, device)
    x[:, small_rows(key.round)].mul_(SMALL)
    residual[small_rows(key.round)].mul_(SMALL)
    return {"x": x, "residual": residual}


def residual_of(case: Case, key: DrawKey, device: torch.device) -> torch.Tensor:
    """residual (rows, H), the same on every rank."""
    spec = case.tensor("residual")
    source = Source.of(key, device)
    residual = source.normal("residual", spec.shape, ELEMENT_TYPES[spec.dtype])
    source.scatter_zeros("residual", residual)
    return residual
