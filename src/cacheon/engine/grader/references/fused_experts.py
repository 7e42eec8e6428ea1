"""moe.fused_experts: Σ weight · (silu(gate) · up) w2ᵀ over the experts of a row."""

from collections.abc import Mapping

import torch
from torch.nn.functional import silu

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import (
    PRODUCTS,
    SCRATCH,
    exact_products,
    for_products,
)


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """x (M, H), topk_ids int32 (M, K), topk_weights float32 (M, K), w13 (E, 2I, H) gate
    then up, w2 (E, H, I) → out (M, H), float64 or float32."""
    rows, hidden = inputs["x"].shape
    experts, _, intermediate = inputs["w2"].shape
    products = 3 * rows * hidden * intermediate
    affordable = products * experts <= PRODUCTS and inputs["w13"].numel() <= SCRATCH
    dense = affordable and inputs["x"].is_cuda
    dtype = for_products(products * inputs["topk_ids"].shape[1])
    with exact_products():
        out = (_every_expert if dense else _chosen_experts)(inputs, dtype)
    return {"out": out}


def _every_expert(inputs: Mapping[str, torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """Every expert computes every row, weighted by zero where the row did not choose it:
    more work than needed, but nothing has to wait for the device to say which is."""
    x = inputs["x"].to(dtype)
    w13, w2 = inputs["w13"].to(dtype), inputs["w2"].to(dtype)
    rows, experts = x.shape[0], w2.shape[0]
    share = torch.zeros((rows, experts), dtype=dtype, device=x.device)
    share.scatter_add_(1, inputs["topk_ids"].long(), inputs["topk_weights"].to(dtype))
    gate, up = (x @ w13.flatten(0, 1).T).view(rows, experts, -1).chunk(2, dim=-1)
    inner = silu(gate).mul_(up).mul_(share[..., None])
    return inner.flatten(1) @ w2.transpose(1, 2).flatten(0, 1)


def _chosen_experts(inputs: Mapping[str, torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """Every expert computes the rows that chose it; the host reads the group sizes."""
    x = inputs["x"].to(dtype)
    experts, choices = inputs["w2"].shape[0], inputs["topk_ids"].shape[1]
    chosen = inputs["topk_ids"].long().flatten()
    share = inputs["topk_weights"].to(dtype).flatten()
    order = chosen.argsort()
    sizes = chosen.bincount(minlength=experts).tolist()
    out = torch.zeros_like(x)
    for expert, group in enumerate(torch.split(order, sizes)):
        if sizes[expert] == 0:
            continue
        row = group // choices
        gate, up = (x[row] @ inputs["w13"][expert].to(dtype).T).chunk(2, dim=1)
        inner = silu(gate).mul_(up).mul_(share[group, None])
        out.index_add_(0, row, inner @ inputs["w2"][expert].to(dtype).T)
    return out
