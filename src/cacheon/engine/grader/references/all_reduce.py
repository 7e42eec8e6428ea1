"""collective.all_reduce: the sum of x over the ranks."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import for_elements
from cacheon.engine.grader.references.ranks import Inputs, OverRanks, Scalars


def contributions(inputs: Inputs, scalars: Scalars, case: Case) -> torch.Tensor:
    """x (ranks, M, H), float64 or float32."""
    return inputs["x"].to(for_elements(inputs["x"].numel()))


def whole(
    total: torch.Tensor, inputs: Inputs, scalars: Scalars, case: Case
) -> dict[str, torch.Tensor]:
    """total (M, H) → out (M, H)."""
    return {"out": total}


reference = OverRanks(contributions, whole)
