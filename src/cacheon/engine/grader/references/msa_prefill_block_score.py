"""attention.msa_prefill_block_score: scale · q·k, the maximum of each visible block."""

from collections.abc import Mapping

import torch
from torch.nn.functional import pad

from cacheon.contract.case import Case
from cacheon.engine.grader.references.precision import exact_products, for_products, slices


def reference(
    inputs: Mapping[str, torch.Tensor], scalars: Mapping[str, float], case: Case
) -> dict[str, torch.Tensor]:
    """q (T, D), index_k (S, D) → out (T, ⌈S / block_size⌉), float64 or float32.

    Key n is visible to row m iff n <= prefix_len + m; a block without a visible key is
    -inf; the last block may be ragged.
    """
    tokens, head_dim = inputs["q"].shape
    keys = inputs["index_k"].shape[0]
    prefix, block = int(scalars["prefix_len"]), int(scalars["block_size"])
    dtype = for_products(tokens * keys * head_dim)
    q, k = inputs["q"].to(dtype), inputs["index_k"].to(dtype)
    blocks = -(-keys // block)
    position = torch.arange(keys, device=q.device)
    last = torch.arange(tokens, device=q.device)[:, None] + prefix
    out = torch.empty((tokens, blocks), dtype=dtype, device=q.device)
    with exact_products():
        for part in slices(tokens, 2 * keys):
            scores = (q[part] @ k.T).mul_(scalars["scale"])
            scores.masked_fill_(position > last[part], float("-inf"))
            scores = pad(scores, (0, blocks * block - keys), value=float("-inf"))
            out[part] = scores.view(-1, blocks, block).amax(-1)
    return {"out": out}
