"""activation.silu_and_mul: silu(left half) · right half."""

from collections.abc import Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import for_elements


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """x (T, 2d) → out (T, d), float64 or float32."""
    x = inputs["x"].to(for_elements(inputs["x"].numel()))
    gate, up = x.chunk(2, dim=-1)
    return {"out": torch.nn.functional.silu(gate).mul_(up)}
