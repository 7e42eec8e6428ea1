"""attention.sdpa: softmax attention with grouped heads, causal or not."""

from collections.abc import Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import exact_products, for_products, slices


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """q (T, Hq, D), k and v (T, Hkv, D) → out (T, Hq, D), float64 or float32.

    Under causal, query i sees keys up to i.
    """
    q_THD = inputs["q"]
    tokens, heads, head_dim = q_THD.shape
    kv_heads = inputs["k"].shape[1]
    dtype = for_products(2 * heads * tokens * tokens * head_dim)
    q = q_THD.to(dtype).view(tokens, kv_heads, heads // kv_heads, head_dim)
    k, v = inputs["k"].to(dtype), inputs["v"].to(dtype)
    position = torch.arange(tokens, device=q.device)
    out = torch.empty_like(q)
    with exact_products():
        for part in slices(tokens, heads * tokens):
            scores = torch.einsum("thgd,nhd->hgtn", q[part], k).mul_(scalars["sm_scale"])
            if scalars["causal"]:
                scores.masked_fill_(position > position[part, None], float("-inf"))
            out[part] = torch.einsum("hgtn,nhd->thgd", scores.softmax(-1), v)
    return {"out": out.view(tokens, heads, head_dim)}
