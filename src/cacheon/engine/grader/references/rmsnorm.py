"""norm.rmsnorm: x · rsqrt(mean x² + eps) · weight."""

from collections.abc import Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import for_elements


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """x (T, H), weight (H) → out (T, H), float64 or float32."""
    x = inputs["x"].to(for_elements(inputs["x"].numel()))
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + scalars["eps"])
    return {"out": x * scale * inputs["weight"].to(x.dtype)}
