"""Implementations of the collectives, all ranks in one process: of high and low precision,
some with a switch for a way of being wrong. Each takes the drawn inputs, ranks first where
they differ by rank, and returns every output as one rank would hold it."""

from collections.abc import Callable

import torch
from torch.nn import functional

from cacheon.contract.case import Case

from .implementations import moe

Inputs = dict[str, torch.Tensor]
Outputs = dict[str, torch.Tensor]
Sum = Callable[[torch.Tensor], torch.Tensor]
"""(ranks, *shape) of the run's dtype → (*shape) of it or of float32."""


# --- ways of summing -------------------------------------------------------------------


def exact(parts: torch.Tensor) -> torch.Tensor:
    return parts.float().sum(0)


def ring(parts: torch.Tensor) -> torch.Tensor:
    """One rank after the other, each sum rounded to the run's dtype."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def tree(parts: torch.Tensor) -> torch.Tensor:
    """Halves added to halves, each sum rounded."""
    while len(parts) > 1:
        half = len(parts) // 2
        added = parts[:half] + parts[half : 2 * half]
        parts = torch.cat([added, parts[2 * half :]])
    return parts[0]


def without(rank: int) -> Sum:
    return lambda parts: exact(torch.cat([parts[:rank], parts[rank + 1 :]]))


def twice(rank: int) -> Sum:
    return lambda parts: exact(parts) + parts[rank].float()


def mean(parts: torch.Tensor) -> torch.Tensor:
    return parts.float().mean(0)


def clipped(parts: torch.Tensor) -> torch.Tensor:
    return exact(parts).clamp(-8.0, 8.0)


def eight_bits(parts: torch.Tensor) -> torch.Tensor:
    """One scale for all values of all ranks."""
    scale = parts.float().abs().amax() / 127
    return torch.round(parts.float() / scale).sum(0) * scale


def largest(parts: torch.Tensor) -> torch.Tensor:
    return parts.float().amax(0)


# --- the slots --------------------------------------------------------------------------


def all_reduce(i: Inputs, case: Case, total: Sum = exact) -> Outputs:
    return {"out": total(i["x"]).to(i["x"].dtype)}


def normed(
    i: Inputs, case: Case, total: torch.Tensor, *, eps: float | None = None, rounded: bool = False
) -> Outputs:
    """Residual and norm of a sum; `rounded`: the norm is made of the rounded residual."""
    dtype = i["residual"].dtype
    out = total + i["residual"].to(total.dtype)
    x = out.to(dtype).float() if rounded else out.float()
    eps = float(case.scalars["eps"]) if eps is None else eps
    norm = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * i["weight"].float()
    return {"out_norm": norm.to(dtype), "out_residual": out.to(dtype)}


def ar_norm(
    i: Inputs,
    case: Case,
    total: Sum = exact,
    *,
    eps: float | None = None,
    rounded: bool = False,
    residual: bool = True,
) -> Outputs:
    if not residual:
        i = {**i, "residual": torch.zeros_like(i["residual"])}
    return normed(i, case, total(i["x"]), eps=eps, rounded=rounded)


def finalize(
    i: Inputs,
    case: Case,
    total: Sum = exact,
    *,
    accumulate: torch.dtype = torch.float32,
    outermost: str = "K",
    scaled: bool = True,
    mapped: bool = True,
    eps: float | None = None,
) -> Outputs:
    expanded, choices = i["scales"].shape
    tokens = i["residual"].shape[0]
    rows = i["row_map"].long() if mapped else torch.arange(expanded * choices)
    table = rows.view(choices, expanded) if outermost == "K" else rows.view(expanded, choices).T
    parts = torch.zeros((len(i["gemm_out"]), tokens, i["residual"].shape[1]), dtype=accumulate)
    for k in range(choices):
        gathered = i["gemm_out"][:, table[k, :tokens]].to(accumulate)
        parts += gathered * (i["scales"][:tokens, k, None].to(accumulate) if scaled else 1)
    return normed(i, case, total(parts.to(i["gemm_out"].dtype)), eps=eps)


def experts(
    i: Inputs,
    case: Case,
    total: Sum = exact,
    *,
    inner: torch.dtype = torch.float32,
    weights_of: int = -1,
    weighting: str = "",
) -> Outputs:
    """`weights_of`: every rank computes with the weights of this one."""
    parts = [
        moe(
            {**i, "w13": i["w13"][pick], "w2": i["w2"][pick]},
            case,
            inner=inner,
            weighting=weighting,
        )
        for rank in range(len(i["w13"]))
        for pick in (rank if weights_of < 0 else weights_of,)
    ]
    return {"out": total(torch.stack(parts)).to(i["x"].dtype)}


def experts_rounded(i: Inputs, case: Case) -> Outputs:
    return experts(i, case, ring, inner=i["x"].dtype)


def norm_before_the_sum(i: Inputs, case: Case) -> Outputs:
    """Each rank normalises its own part, and the parts are summed."""
    outputs = ar_norm(i, case)
    width = (i["x"].shape[-1],)
    parts = torch.stack(
        [functional.rms_norm(x.float(), width, i["weight"].float()) for x in i["x"]]
    )
    return {**outputs, "out_norm": parts.sum(0).to(i["x"].dtype)}
