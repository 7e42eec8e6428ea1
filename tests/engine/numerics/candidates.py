"""Honest implementations of low and high precision, and wrong ones, by slot.

Each takes the drawn inputs (weights included) and the case and returns the output in its
dtype. An honest one must pass every draw; a wrong one must fail in one of any two
consecutive rounds, by construction of the draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from cacheon.contract.case import Case

Inputs = dict[str, torch.Tensor]
Implementation = Callable[[Inputs, Case], torch.Tensor]


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
    i: Inputs, case: Case, *, shift: int = 0, heads: slice = slice(None), whole: bool = False
) -> torch.Tensor:
    block = int(case.scalars["block_size"])
    q = i["q"].float()[:, heads].sum(1)
    scores = torch.einsum("bd,bnd->bn", q, i["index_k"][:, :, 0].float())
    n = torch.arange(scores.shape[1])[None]
    length = i["seq_lens"][:, None] + shift
    if whole:  # masks whole blocks only
        length = (length + block - 1) // block * block
    scores = scores.masked_fill(n >= length, float("-inf"))
    return paged(scores, block).amax(-1).to(i["q"].dtype)


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
    i: Inputs, case: Case, *, shift: int = 0, causal: bool = True, dims: slice = slice(None)
) -> torch.Tensor:
    block = int(case.scalars["block_size"])
    scores = i["q"][:, dims].float() @ i["index_k"][:, dims].float().T * case.scalars["scale"]
    m, n = (torch.arange(size) for size in scores.shape)
    last = int(case.scalars["prefix_len"]) + (m[:, None] if causal else scores.shape[0])
    scores = scores.masked_fill(n[None] > last + shift, float("-inf"))
    scores = functional.pad(scores, (0, -scores.shape[1] % block), value=float("-inf"))
    return paged(scores, block).amax(-1)


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
        hidden = functional.silu(gate) * up
        down = (hidden @ w2[expert].to(inner).T).to(accumulate)
        down *= weight[rows, slots, None].to(accumulate)
        out.index_add_(0, rows, down)
    return out.to(x.dtype)


def moe_rounded(i: Inputs, case: Case) -> torch.Tensor:
    return moe(i, case, inner=i["x"].dtype, accumulate=i["x"].dtype)


# --- damage that any output can suffer -------------------------------------------------


def damage(out: torch.Tensor, how: str) -> torch.Tensor:
    out = out.clone()
    fill: Any = 0
    match how:
        case "zeros":
            out[:] = fill
        case "ones":
            out[:] = 1
        case "row":
            out[-1] = fill
        case "row_repeated":
            out[-1] = out[0]
        case "head":
            out[:, -1] = fill
        case "tail_tile":
            out[-1, ..., -64:] = fill
        case "tail_rows":
            out[-16:, ..., -64:] *= 1.05
        case "last_block":
            out[:, -1] = 0
        case "unwritten":
            out[-1, ..., -1:] = float("nan")
        case _:
            raise ValueError(how)
    return out


def cannot_show(name: str, case: Case) -> str:
    """Why a wrong implementation gives the right answer in this case whatever is drawn;
    empty where it does not."""
    d = case.dims
    match case.slot, name:
        case "attention.sdpa", _ if d["T"] == 1 and name in _MASKS | {"no_scale"}:
            return "one key has all the weight"
        case "attention.sdpa", "last_key_lost" if case.scalars["causal"]:
            return "a case without a mask"
        case "attention.sdpa", "one_more" | "one_less" if not case.scalars["causal"]:
            return "there is no mask to shift"
        case "attention.decode", "wrong_group" if d["Hkv"] in (1, d["Hq"]):
            return "both ways of grouping heads are the same"
        case "attention.msa_block_score", "row_repeated" if d["B"] == 1:
            return "there is one row"
        case "attention.msa_block_score", "whole_blocks" if d["B"] == 1 and d["S"] == 9 * 128:
            return "one row of nine blocks: the ninth stands for a length or for a head"
    return ""


_MASKS = {"one_more", "one_less", "other_mask", "last_key_lost"}


@dataclass(frozen=True)
class Candidates:
    honest: dict[str, Implementation]
    wrong: dict[str, Implementation]
    damages: tuple[str, ...]


def damaged(right: Implementation, how: str) -> Implementation:
    return lambda i, case: damage(right(i, case), how)


SCORES = ("zeros", "ones", "row", "row_repeated", "last_block", "unwritten")
CELLS = ("zeros", "ones", "row", "tail_tile", "tail_rows", "unwritten")

CANDIDATES: dict[str, Candidates] = {
    "activation.silu_and_mul": Candidates(
        honest={"exact": silu_exact, "rounded": silu_rounded, "sigmoid": silu_by_sigmoid},
        wrong={"swapped": silu_swapped, "gelu": silu_as_gelu},
        damages=CELLS,
    ),
    "norm.rmsnorm": Candidates(
        honest={"exact": rms, "rounded": rms_rounded, "torch": rms_torch},
        wrong={
            "no_eps": lambda i, c: rms(i, c, eps=0.0),
            "eps_1e-5": lambda i, c: rms(i, c, eps=1e-5),
            "eps_outside": rms_eps_outside,
            "no_weight": lambda i, c: rms(i, c, weighted=False),
        },
        damages=CELLS,
    ),
    "attention.sdpa": Candidates(
        honest={"exact": sdpa_plain, "rounded": sdpa_rounded, "torch": sdpa_torch},
        wrong={
            "one_more": lambda i, c: sdpa_plain(i, c, shift=1),
            "one_less": lambda i, c: sdpa_plain(i, c, shift=-1),
            "other_mask": lambda i, c: sdpa_plain(i, c, causal=not c.scalars["causal"]),
            "last_key_lost": sdpa_last_key_lost,
            "no_scale": lambda i, c: sdpa_plain(i, c, scale=1.0),
        },
        damages=(*CELLS, "head"),
    ),
    "attention.decode": Candidates(
        honest={
            "exact": decode_plain,
            "rounded": decode_rounded,
            "torch": decode_torch,
            "online": decode_online,
        },
        wrong={
            "one_more": lambda i, c: decode_plain(i, c, shift=1),
            "one_less": lambda i, c: decode_plain(i, c, shift=-1),
            "all": lambda i, c: decode_plain(i, c, shift=10**6),
            "no_scale": lambda i, c: decode_plain(i, c, scale=1.0),
            "wrong_group": decode_wrong_group,
        },
        damages=(*CELLS, "head"),
    ),
    "attention.msa_block_score": Candidates(
        honest={
            "exact": score_plain,
            "rounded": score_rounded,
            "summed": score_summed_query,
            "eight_bits": score_eight_bits,
        },
        wrong={
            "one_more": lambda i, c: score_plain(i, c, shift=1),
            "one_less": lambda i, c: score_plain(i, c, shift=-1),
            "whole_blocks": lambda i, c: score_plain(i, c, whole=True),
            "first_head_lost": lambda i, c: score_plain(i, c, heads=slice(1, None)),
            "last_head_lost": lambda i, c: score_plain(i, c, heads=slice(-1)),
            "one_head": lambda i, c: score_plain(i, c, heads=slice(1)),
            "mean": score_mean,
        },
        damages=SCORES,
    ),
    "attention.msa_prefill_block_score": Candidates(
        honest={
            "exact": prefill_plain,
            "rounded": prefill_rounded,
            "eight_bits": prefill_eight_bits,
        },
        wrong={
            "one_more": lambda i, c: prefill_plain(i, c, shift=1),
            "one_less": lambda i, c: prefill_plain(i, c, shift=-1),
            "not_causal": lambda i, c: prefill_plain(i, c, causal=False),
            "half_the_columns": lambda i, c: prefill_plain(i, c, dims=slice(i["q"].shape[1] // 2)),
        },
        damages=SCORES,
    ),
    "moe.fused_experts": Candidates(
        honest={"exact": moe, "rounded": moe_rounded},
        wrong={
            "no_weights": lambda i, c: moe(i, c, weighting="none"),
            "normalised": lambda i, c: moe(i, c, weighting="normalised"),
            "last_expert_dropped": lambda i, c: moe(i, c, drop=True),
            "gate_and_up_swapped": lambda i, c: moe(i, c, swap=True),
            "wrong_expert": lambda i, c: moe(i, c, expert_shift=1),
        },
        damages=CELLS,
    ),
}
