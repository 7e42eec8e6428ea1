"""moe.fused_experts_reduce: moe.fused_experts with each rank's weights, summed over ranks."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references import fused_experts
from cacheon.engine.grader.references.ranks import Inputs, OverRanks, Scalars


def contributions(inputs: Inputs, scalars: Scalars, case: Case) -> torch.Tensor:
    """x (M, H), routing (M, K), w13 (ranks, E, 2I, H), w2 (ranks, E, H, I) →
    (ranks, M, H), float64 or float32."""
    answers = []
    for w13, w2 in zip(inputs["w13"], inputs["w2"], strict=True):
        own = {**inputs, "w13": w13, "w2": w2}
        answers.append(fused_experts.reference(own, scalars, case)["out"])
    return torch.stack(answers)


def whole(
    total: torch.Tensor, inputs: Inputs, scalars: Scalars, case: Case
) -> dict[str, torch.Tensor]:
    """total (M, H) → out (M, H)."""
    return {"out": total}


reference = OverRanks(contributions, whole)
