"""attention.decode: row i attends to its first seq_lens[i] keys."""

from collections.abc import Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import exact_products, for_products, slices


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """q (B, Hq, D), k and v (B, S, Hkv, D), seq_lens int32 (B) → out (B, Hq, D), float64
    or float32."""
    batch, heads, head_dim = inputs["q"].shape
    _, cache, kv_heads, _ = inputs["k"].shape
    dtype = for_products(2 * batch * heads * cache * head_dim)
    q = inputs["q"].to(dtype).view(batch, kv_heads, heads // kv_heads, head_dim)
    position = torch.arange(cache, device=q.device)
    out = torch.empty_like(q)
    with exact_products():
        for part in slices(batch, 2 * cache * max(heads, kv_heads * head_dim)):
            k, v = inputs["k"][part].to(dtype), inputs["v"][part].to(dtype)
            scores = torch.einsum("bhgd,bnhd->bhgn", q[part], k).mul_(scalars["sm_scale"])
            hidden = position >= inputs["seq_lens"][part, None]
            scores.masked_fill_(hidden[:, None, None], float("-inf"))
            out[part] = torch.einsum("bhgn,bnhd->bhgd", scores.softmax(-1), v)
    return {"out": out.view(batch, heads, head_dim)}
