"""collective.moe_finalize_ar_rmsnorm: gather, scale, sum over K and over the ranks, plus
residual; its rmsnorm."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.ar_residual_rmsnorm import whole
from cacheon.engine.grader.references.precision import for_elements
from cacheon.engine.grader.references.ranks import Inputs, OverRanks, Scalars


def contributions(inputs: Inputs, scalars: Scalars, case: Case) -> torch.Tensor:
    """gemm_out (ranks, Te·K, H), row_map (Te·K) with K outermost, scales (Te, K) →
    (ranks, T, H), float64 or float32: what token t sums is row row_map[k·Te + t] times
    scales[t, k]."""
    expanded, choices = inputs["scales"].shape
    tokens = inputs["residual"].shape[0]
    dtype = for_elements(inputs["gemm_out"].numel())
    rows = inputs["row_map"].long().view(choices, expanded)[:, :tokens]
    scales = inputs["scales"].to(dtype)[:tokens]
    total = torch.zeros(
        (inputs["gemm_out"].shape[0], tokens, inputs["gemm_out"].shape[-1]),
        dtype=dtype,
        device=rows.device,
    )
    for k in range(choices):
        total += inputs["gemm_out"][:, rows[k]].to(dtype) * scales[:, k, None]
    return total


reference = OverRanks(contributions, whole)
