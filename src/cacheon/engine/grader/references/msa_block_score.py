"""attention.msa_block_score: q·k summed over heads, the maximum of each visible block."""

from collections.abc import Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import exact_products, for_products, slices


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """q (B, Hq, D), index_k (B, S, 1, D), seq_lens int32 (B) → out (B, S / block_size),
    float64 or float32; a block without a visible key is -inf."""
    batch, cache, _, head_dim = inputs["index_k"].shape
    block = int(scalars["block_size"])
    dtype = for_products(batch * cache * head_dim)
    query = inputs["q"].to(dtype).sum(1)
    position = torch.arange(cache, device=query.device)
    out = torch.empty((batch, cache // block), dtype=dtype, device=query.device)
    with exact_products():
        for part in slices(batch, cache * head_dim):
            keys = inputs["index_k"][part, :, 0].to(dtype)
            scores = torch.einsum("bd,bnd->bn", query[part], keys)
            scores.masked_fill_(position >= inputs["seq_lens"][part, None], float("-inf"))
            out[part] = scores.view(-1, cache // block, block).amax(-1)
    return {"out": out}
