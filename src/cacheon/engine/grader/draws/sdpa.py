"""Draws for attention.sdpa: every second query looks for the last key that it may see,
the others for the first that they may not."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.attention import NEEDLE_LOGIT, SPREAD, trap_logit
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

LARGEST_TRAP_PULL = 1.2
"""How much of an invisible key is added to a query at most. The query's logits with the
visible keys spread by as much; they make the answer, and large scores suffer where an
honest kernel rounds them."""

LARGE = 16.0
"""One cell of the first and of the last key's value: who clips answers is seen by it."""

PUSH = 2.0
"""How many times as far as others are pulled query 0 is pushed: whatever the norm of its
key, e to the power of its logit is less than float32 holds."""


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """q (T, Hq, D), k and v (T, Hkv, D).

    Query i of round r is pulled towards a key where i + r is even: towards key i under a
    causal mask, else towards the last key. The other queries are pulled towards key
    i + 1: the first invisible one under a causal mask, and without one a key that a
    causal mask would hide. Where query 0 sees key 0 alone, it is pushed away from it: its
    answer is that key's value all the same, but not where the largest score is taken to be
    at least 0, or is sought among the hidden keys, or these score a mere -30 or so.
    `extreme` changes nothing: there are no lengths.
    """
    spec = case.tensor("q")
    dtype = ELEMENT_TYPES[spec.dtype]
    tokens, heads, head_dim = spec.shape
    kv_heads = case.tensor("k").shape[1]
    source = Source.of(key, device)
    k = source.normal("k", case.tensor("k").shape, dtype)
    v = source.normal("v", case.tensor("v").shape, dtype)
    q = source.normal("q", spec.shape, torch.float32).mul_(SPREAD)
    for name, tensor in (("k", k), ("v", v)):
        source.scatter_zeros(name, tensor)

    # Who sees one key alone, or looks for the last one, answers with its value.
    v[:: max(1, tokens - 1), :, source.pick("large", head_dim)] = LARGE

    per_pull = float(case.scalars["sm_scale"]) * head_dim
    towards_last = NEEDLE_LOGIT / per_pull
    towards_next = min(trap_logit(tokens) / per_pull, LARGEST_TRAP_PULL)
    row = torch.arange(tokens, device=device)
    looks_back = (row + key.round) % 2 == 0
    last = row if case.scalars["causal"] else torch.full_like(row, tokens - 1)
    target = torch.where(looks_back, last, row + 1)
    inside = target < tokens
    pull = torch.where(looks_back, towards_last, towards_next) * inside
    if case.scalars["causal"] and key.round % 2 == 0:
        pull[0].mul_(-PUSH)
    wanted = k.index_select(0, target.clamp(max=tokens - 1)).to(torch.float32)
    wanted.mul_(pull.to(torch.float32)[:, None, None])
    q.view(tokens, kv_heads, heads // kv_heads, head_dim).add_(wanted[:, :, None])
    return {"q": q.to(dtype), "k": k, "v": v}
