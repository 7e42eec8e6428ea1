"""collective.ar_residual_rmsnorm: the sum of x over the ranks, plus residual; its rmsnorm."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references import rmsnorm
from cacheon.engine.grader.references.all_reduce import contributions
from cacheon.engine.grader.references.ranks import Inputs, OverRanks, Scalars


def whole(
    total: torch.Tensor, inputs: Inputs, scalars: Scalars, case: Case
) -> dict[str, torch.Tensor]:
    """total (T, H), residual (T, H), weight (H) → out_residual, out_norm (T, H)."""
    out = total + inputs["residual"].to(total.dtype)
    normed = rmsnorm.reference({"x": out, "weight": inputs["weight"]}, scalars, case)
    return {"out_norm": normed["out"], "out_residual": out}


reference = OverRanks(contributions, whole)
