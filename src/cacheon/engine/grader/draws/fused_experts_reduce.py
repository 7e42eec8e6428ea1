"""Draws for moe.fused_experts_reduce: the routing of moe.fused_experts, and weights of each
rank's own."""

import torch

from cacheon.engine.grader.draws import fused_experts
from cacheon.engine.grader.draws.ranks import share
from cacheon.engine.grader.draws.source import Source

inputs = fused_experts.inputs
poison = fused_experts.poison


def weights(
    shapes: dict[str, tuple[int, ...]], dtype: torch.dtype, sources: list[Source]
) -> dict[str, torch.Tensor]:
    """w13 (ranks, E, 2I, H) and w2 (ranks, E, H, I): each rank's part of a sum that is near
    standard normal for a standard normal x."""
    drawn = [fused_experts.weights(shapes, dtype, source) for source in sources]
    stacked = {name: torch.stack([one[name] for one in drawn]) for name in drawn[0]}
    stacked["w2"].mul_(share(len(sources)))
    return stacked
