"""Implementations of every slot, of high and low precision, some with a switch for a way
of being wrong. Each takes the drawn inputs (weights included) and the case and returns the
output in its dtype."""

import torch
from torch.nn import functional

from cacheon.contract.case import Case

Inputs = dict[str, torch.Tensor]


# --- activation.silu_and_mul -----------------------------------------------------------


def silu_exact(i: Inputs, case: Case) -> torch.Tensor:
    gate, up = i["x"].float().chunk(2, -1)
    return (functional.silu(gate) * up).to(i["x"].dtype)


def silu_rounded(i: Inputs, case: Case) -> torch.Tensor:
    gate, up = i["x"].chunk(2, -1)
    return functional.silu(gate) * up


def silu_by_sigmoid(i: Inputs, case: Case) -> torch.Tensor:
    gate, up = i["x"].chunk(2, -1)
    return gate * torch.sigmoid(gate) * up


def silu_overflowing(i: Inputs, case: Case) -> torch.Tensor:
    gate, up = i["x"].float().chunk(2, -1)
    grown = gate.exp()
    return (gate * grown / (1 + grown) * up).to(i["x"].dtype)


def silu_swapped(i: Inputs, case: Case) -> torch.Tensor:
    up, gate = i["x"].float().chunk(2, -1)
    return (functional.silu(gate) * up).to(i["x"].dtype)


def silu_as_gelu(i: Inputs, case: Case) -> torch.Tensor:
    gate, up = i["x"].float().chunk(2, -1)
    return (functional.gelu(gate) * up).to(i["x"].dtype)


# --- norm.rmsnorm ----------------------------------------------------------------------


def rms(i: Inputs, case: Case, eps: float | None = None, weighted: bool = True) -> torch.Tensor:
    x = i["x"].float()
    eps = float(case.scalars["eps"]) if eps is None else eps
    out = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return (out * i["weight"].float() if weighted else out).to(i["x"].dtype)


def rms_rounded(i: Inputs, case: Case) -> torch.Tensor:
    x = i["x"].float()
    normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + case.scalars["eps"])
    return normed.to(i["x"].dtype) * i["weight"]


def rms_torch(i: Inputs, case: Case) -> torch.Tensor:
    eps = float(case.scalars["eps"])
    return functional.rms_norm(i["x"], (i["x"].shape[-1],), i["weight"], eps)


def rms_unsigned_weight(i: Inputs, case: Case) -> torch.Tensor:
    return rms(dict(i, weight=i["weight"].abs()), case)


def rms_clipped(i: Inputs, case: Case) -> torch.Tensor:
    """What is normalized is held to ±8, as before a conversion to eight bits."""
    normed = rms(i, case, weighted=False).float().clamp(-8, 8)
    return (normed * i["weight"].float()).to(i["x"].dtype)


def rms_eps_outside(i: Inputs, case: Case) -> torch.Tensor:
    x = i["x"].float()
    out = x / (x.square().mean(-1, keepdim=True).sqrt() + case.scalars["eps"])
    return (out * i["weight"].float()).to(i["x"].dtype)


# --- attention -------------------------------------------------------------------------


def expand(t: torch.Tensor, like: torch.Tensor, dim: int) -> torch.Tensor:
    return t.repeat_interleave(like.shape[1] // t.shape[dim], dim)


def sdpa_plain(
    i: Inputs, case: Case, *, shift: int = 0, causal: bool | None = None, scale: float | None = None
) -> torch.Tensor:
    q, k, v = i["q"].float(), i["k"].float(), i["v"].float()
    k, v = expand(k, q, 1), expand(v, q, 1)
    scores = torch.einsum("thd,nhd->htn", q, k)
    scores *= float(case.scalars["sm_scale"]) if scale is None else scale
    n = torch.arange(q.shape[0])
    if case.scalars["causal"] if causal is None else causal:
        hidden = n[None] > n[:, None] + shift
        hidden &= n[None] > 0  # a row without any key would be NaN
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.einsum("htn,nhd->thd", scores.softmax(-1), v).to(i["q"].dtype)


def sdpa_last_key_lost(i: Inputs, case: Case) -> torch.Tensor:
    """Without a mask: every query misses the last key."""
    q = i["q"].float()
    k, v = expand(i["k"].float(), q, 1), expand(i["v"].float(), q, 1)
    scores = torch.einsum("thd,nhd->htn", q, k[:-1]) * case.scalars["sm_scale"]
    return torch.einsum("htn,nhd->thd", scores.softmax(-1), v[:-1]).to(i["q"].dtype)


def sdpa_from_zero(i: Inputs, case: Case) -> torch.Tensor:
    """The running maximum begins at 0: where all visible scores are far below it, nothing
    is left to divide by."""
    q = i["q"].float()
    k, v = expand(i["k"].float(), q, 1), expand(i["v"].float(), q, 1)
    scores = torch.einsum("thd,nhd->htn", q, k) * case.scalars["sm_scale"]
    n = torch.arange(q.shape[0])
    if case.scalars["causal"]:
        scores = scores.masked_fill(n[None] > n[:, None], float("-inf"))
    weight = (scores - scores.amax(-1, keepdim=True).clamp(min=0)).exp()
    weight /= weight.sum(-1, keepdim=True)
    return torch.einsum("htn,nhd->thd", weight, v).to(i["q"].dtype)


def sdpa_mere_mask(i: Inputs, case: Case) -> torch.Tensor:
    """Hidden keys score -30 instead of nothing."""
    q = i["q"].float()
    k, v = expand(i["k"].float(), q, 1), expand(i["v"].float(), q, 1)
    scores = torch.einsum("thd,nhd->htn", q, k) * case.scalars["sm_scale"]
    n = torch.arange(q.shape[0])
    if case.scalars["causal"]:
        scores = scores.masked_fill(n[None] > n[:, None], -30.0)
    return torch.einsum("htn,nhd->thd", scores.softmax(-1), v).to(i["q"].dtype)


def sdpa_rounded(i: Inputs, case: Case) -> torch.Tensor:
    """Scores, weights and everything between in the run's dtype."""
    q, k, v = i["q"], expand(i["k"], i["q"], 1), expand(i["v"], i["q"], 1)
    scores = torch.einsum("thd,nhd->htn", q, k) * case.scalars["sm_scale"]
    n = torch.arange(q.shape[0])
    if case.scalars["causal"]:
        scores = scores.masked_fill(n[None] > n[:, None], float("-inf"))
    return torch.einsum("htn,nhd->thd", scores.softmax(-1), v)


def sdpa_torch(i: Inputs, case: Case) -> torch.Tensor:
    q, k, v = (t.transpose(0, 1)[None] for t in (i["q"], i["k"], i["v"]))
    out = functional.scaled_dot_product_attention(
        q,
        k,
        v,
        is_causal=bool(case.scalars["causal"]),
        scale=float(case.scalars["sm_scale"]),
        enable_gqa=True,
    )
    return out[0].transpose(0, 1)


def decode_plain(
    i: Inputs, case: Case, *, shift: int = 0, scale: float | None = None
) -> torch.Tensor:
    q = i["q"].float()
    k, v = expand(i["k"].float(), q, 2), expand(i["v"].float(), q, 2)
    scores = torch.einsum("bhd,bnhd->bhn", q, k)
    scores *= float(case.scalars["sm_scale"]) if scale is None else scale
    length = (i["seq_lens"] + shift).clamp(min=1)
    hidden = torch.arange(k.shape[1])[None] >= length[:, None]
    scores = scores.masked_fill(hidden[:, None], float("-inf"))
    return torch.einsum("bhn,bnhd->bhd", scores.softmax(-1), v).to(i["q"].dtype)


def decode_rounded(i: Inputs, case: Case) -> torch.Tensor:
    q = i["q"]
    k, v = expand(i["k"], q, 2), expand(i["v"], q, 2)
    scores = torch.einsum("bhd,bnhd->bhn", q, k) * case.scalars["sm_scale"]
    hidden = torch.arange(k.shape[1])[None] >= i["seq_lens"][:, None]
    scores = scores.masked_fill(hidden[:, None], float("-inf"))
    return torch.einsum("bhn,bnhd->bhd", scores.softmax(-1), v)


def decode_torch(i: Inputs, case: Case) -> torch.Tensor:
    q = i["q"][:, :, None]
    k, v = i["k"].transpose(1, 2), i["v"].transpose(1, 2)
    seen = torch.arange(k.shape[2])[None] < i["seq_lens"][:, None]
    out = functional.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=seen[:, None, None],
        scale=float(case.scalars["sm_scale"]),
        enable_gqa=True,
    )
    return out[:, :, 0]


def decode_online(i: Inputs, case: Case, *, block: int = 16) -> torch.Tensor:
    """Blocks of keys with a running maximum; weights and accumulator in the run's dtype;
    a finite mask."""
    q = i["q"]
    dtype = q.dtype
    k, v = expand(i["k"], q, 2), expand(i["v"], q, 2)
    best = torch.full(q.shape[:2], -3e4)
    total = torch.zeros(q.shape[:2])
    out = torch.zeros_like(q)
    for start in range(0, k.shape[1], block):
        part = slice(start, start + block)
        scores = torch.einsum("bhd,bnhd->bhn", q.float(), k[:, part].float())
        scores *= case.scalars["sm_scale"]
        hidden = torch.arange(start, start + scores.shape[-1])[None] >= i["seq_lens"][:, None]
        scores = scores.masked_fill(hidden[:, None], -3e4)
        now = torch.maximum(best, scores.amax(-1))
        weight = (scores - now[..., None]).exp()
        fade = (best - now).exp()
        total = total * fade + weight.sum(-1)
        step = torch.einsum("bhn,bnhd->bhd", weight.to(dtype), v[:, part])
        out = (out * fade[..., None] + step).to(dtype)
        best = now
    return (out.float() / total[..., None]).to(dtype)


def decode_from_zero(i: Inputs, case: Case) -> torch.Tensor:
    """The running maximum begins at 0."""
    q = i["q"].float()
    k, v = expand(i["k"].float(), q, 2), expand(i["v"].float(), q, 2)
    scores = torch.einsum("bhd,bnhd->bhn", q, k) * case.scalars["sm_scale"]
    hidden = torch.arange(k.shape[1])[None] >= i["seq_lens"][:, None]
    scores = scores.masked_fill(hidden[:, None], float("-inf"))
    weight = (scores - scores.amax(-1, keepdim=True).clamp(min=0)).exp()
    weight /= weight.sum(-1, keepdim=True)
    return torch.einsum("bhn,bnhd->bhd", weight, v).to(i["q"].dtype)


def decode_wrong_group(i: Inputs, case: Case) -> torch.Tensor:
    """Query head h reads KV head h mod Hkv."""
    q, k, v = i["q"], i["k"], i["v"]
    repeats = q.shape[1] // k.shape[2]
    turned = dict(i, k=k.repeat(1, 1, repeats, 1), v=v.repeat(1, 1, repeats, 1))
    return decode_plain(turned, case)


# --- scores ----------------------------------------------------------------------------


def paged(scores: torch.Tensor, block: int) -> torch.Tensor:
    """(rows, keys) as (rows, blocks, block)."""
    return scores.reshape(scores.shape[0], -1, block)


def score_plain(
    i: Inputs,
    case: Case,
    *,
    shift: int = 0,
    heads: slice = slice(None),
    whole: bool = False,
    unsigned: bool = False,
) -> torch.Tensor:
    block = int(case.scalars["block_size"])
    q = i["q"].float()[:, heads].sum(1)
    scores = torch.einsum("bd,bnd->bn", q, i["index_k"][:, :, 0].float())
    if unsigned:
        scores.abs_()
    n = torch.arange(scores.shape[1])[None]
    length = i["seq_lens"][:, None] + shift
    if whole:  # masks whole blocks only
        length = (length + block - 1) // block * block
    scores = scores.masked_fill(n >= length, float("-inf"))
    return paged(scores, block).amax(-1).to(i["q"].dtype)


def from_zero(scores: torch.Tensor) -> torch.Tensor:
    """A maximum that began at zero."""
    return torch.where(scores > float("-inf"), scores.clamp(min=0), scores)


def score_rounded(i: Inputs, case: Case) -> torch.Tensor:
    """Each head's scores rounded, their sum rounded at each step."""
    block = int(case.scalars["block_size"])
    k = i["index_k"][:, :, 0]
    scores = torch.zeros(k.shape[:2], dtype=k.dtype)
    for head in range(i["q"].shape[1]):
        scores += torch.einsum("bd,bnd->bn", i["q"][:, head], k)
    n = torch.arange(scores.shape[1])[None]
    scores = scores.masked_fill(n >= i["seq_lens"][:, None], float("-inf"))
    return paged(scores, block).amax(-1)


def score_summed_query(i: Inputs, case: Case) -> torch.Tensor:
    """Heads are summed first, and rounded."""
    summed = i["q"].float().sum(1, keepdim=True).to(i["q"].dtype)
    return score_plain(dict(i, q=summed), case)


def eight_bits(t: torch.Tensor) -> torch.Tensor:
    scale = t.float().abs().amax(-1, keepdim=True).clamp(min=1e-9) / 448
    return (t.float() / scale).to(torch.float8_e4m3fn).float() * scale


def score_eight_bits(i: Inputs, case: Case) -> torch.Tensor:
    out = score_plain(dict(i, index_k=eight_bits(i["index_k"])), case)
    return out.to(i["q"].dtype)


def score_mean(i: Inputs, case: Case) -> torch.Tensor:
    """The mean of a block instead of its maximum."""
    block = int(case.scalars["block_size"])
    scores = torch.einsum("bd,bnd->bn", i["q"].float().sum(1), i["index_k"][:, :, 0].float())
    n = torch.arange(scores.shape[1])[None]
    seen = paged((n < i["seq_lens"][:, None]), block)
    total = (paged(scores, block) * seen).sum(-1) / seen.sum(-1).clamp(min=1)
    return total.masked_fill(~seen.any(-1), float("-inf")).to(i["q"].dtype)


def prefill_plain(
    i: Inputs,
    case: Case,
    *,
    shift: int = 0,
    causal: bool = True,
    dims: slice = slice(None),
    unsigned: bool = False,
) -> torch.Tensor:
    block = int(case.scalars["block_size"])
    scores = i["q"][:, dims].float() @ i["index_k"][:, dims].float().T * case.scalars["scale"]
    if unsigned:
        scores.abs_()
    m, n = (torch.arange(size) for size in scores.shape)
    last = int(case.scalars["prefix_len"]) + (m[:, None] if causal else scores.shape[0])
    scores = scores.masked_fill(n[None] > last + shift, float("-inf"))
    scores = functional.pad(scores, (0, -scores.shape[1] % block), value=float("-inf"))
    return paged(scores, block).amax(-1)


def prefill_filled_up(i: Inputs, case: Case) -> torch.Tensor:
    """The ragged last block is filled up with zeros, as if they were scores."""
    right = prefill_plain(i, case)
    if i["index_k"].shape[0] % int(case.scalars["block_size"]):
        right[:, -1] = from_zero(right[:, -1])
    return right


def prefill_rounded(i: Inputs, case: Case) -> torch.Tensor:
    block = int(case.scalars["block_size"])
    scores = ((i["q"] @ i["index_k"].T) * case.scalars["scale"]).float()
    m, n = (torch.arange(size) for size in scores.shape)
    hidden = n[None] > int(case.scalars["prefix_len"]) + m[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))
    scores = functional.pad(scores, (0, -scores.shape[1] % block), value=float("-inf"))
    return paged(scores, block).amax(-1)


def prefill_eight_bits(i: Inputs, case: Case) -> torch.Tensor:
    return prefill_plain(dict(i, index_k=eight_bits(i["index_k"]), q=eight_bits(i["q"])), case)


# --- moe -------------------------------------------------------------------------------


def moe(
    i: Inputs,
    case: Case,
    *,
    inner: torch.dtype = torch.float32,
    accumulate: torch.dtype = torch.float32,
    weighting: str = "",
    drop: bool = False,
    swap: bool = False,
    expert_shift: int = 0,
    limit: float = float("inf"),
    careless: bool = False,
) -> torch.Tensor:
    x, w13, w2 = i["x"], i["w13"], i["w2"]
    ids = (i["topk_ids"].long() + expert_shift) % w2.shape[0]
    weight = i["topk_weights"].clone()
    if weighting == "none":
        weight = torch.ones_like(weight)
    if weighting == "normalised":
        weight = weight / weight.sum(-1, keepdim=True)
    if drop:
        weight[:, -1] = 0
    out = torch.zeros(x.shape, dtype=accumulate)
    for expert in sorted(set(ids.flatten().tolist())):
        rows, slots = (ids == expert).nonzero(as_tuple=True)
        gate, up = (x[rows].to(inner) @ w13[expert].to(inner).T).chunk(2, -1)
        if swap:
            gate, up = up, gate
        gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
        grown = gate.exp()
        hidden = (gate * grown / (1 + grown) if careless else functional.silu(gate)) * up
        down = (hidden @ w2[expert].to(inner).T).to(accumulate)
        down *= weight[rows, slots, None].to(accumulate)
        out.index_add_(0, rows, down)
    return out.to(x.dtype)


def moe_rounded(i: Inputs, case: Case) -> torch.Tensor:
    return moe(i, case, inner=i["x"].dtype, accumulate=i["x"].dtype)
