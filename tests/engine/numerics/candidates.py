"""Which implementations are honest and which are wrong, by slot.

An honest one must pass every draw; a wrong one must fail in one of any two consecutive
rounds, by construction of the draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from cacheon.contract.case import Case

from .implementations import (
    Inputs,
    decode_online,
    decode_plain,
    decode_rounded,
    decode_torch,
    decode_wrong_group,
    from_zero,
    moe,
    moe_rounded,
    prefill_eight_bits,
    prefill_filled_up,
    prefill_plain,
    prefill_rounded,
    rms,
    rms_clipped,
    rms_eps_outside,
    rms_rounded,
    rms_torch,
    rms_unsigned_weight,
    score_eight_bits,
    score_mean,
    score_plain,
    score_rounded,
    score_summed_query,
    sdpa_from_zero,
    sdpa_last_key_lost,
    sdpa_mere_mask,
    sdpa_plain,
    sdpa_rounded,
    sdpa_torch,
    silu_as_gelu,
    silu_by_sigmoid,
    silu_exact,
    silu_overflowing,
    silu_rounded,
    silu_swapped,
)

Implementation = Callable[[Inputs, Case], torch.Tensor]


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
        case "clipped":
            out.clamp_(-8, 8)
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
        case "attention.sdpa", "from_zero" if not case.scalars["causal"]:
            return "no query sees one key alone"
        case "attention.sdpa", "mere_mask" if not case.scalars["causal"] or d["T"] == 1:
            return "there is no mask"
        case "attention.sdpa", "one_more" | "one_less" if not case.scalars["causal"]:
            return "there is no mask to shift"
        case "attention.decode", "wrong_group" if d["Hkv"] in (1, d["Hq"]):
            return "both ways of grouping heads are the same"
        case "attention.msa_block_score", "row_repeated" if d["B"] == 1:
            return "there is one row"
        case "attention.msa_block_score", "row_repeated" if d["B"] > 8 and d["S"] == 9 * 128:
            return "nine blocks, of which eight are best, are too few for so many rows"
        case "attention.msa_prefill_block_score", "filled_up" if (d["T"] + 39) % d["block"] == 0:
            return "the last block is not ragged"
        case "attention.msa_prefill_block_score", "row_repeated" if d["T"] > d["P"] ** 2:
            return "so many rows share their best blocks with another"
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
        wrong={"swapped": silu_swapped, "gelu": silu_as_gelu, "overflow": silu_overflowing},
        damages=(*CELLS, "clipped"),
    ),
    "norm.rmsnorm": Candidates(
        honest={"exact": rms, "rounded": rms_rounded, "torch": rms_torch},
        wrong={
            "no_eps": lambda i, c: rms(i, c, eps=0.0),
            "eps_1e-5": lambda i, c: rms(i, c, eps=1e-5),
            "eps_outside": rms_eps_outside,
            "unsigned_weight": rms_unsigned_weight,
            "clipped": rms_clipped,
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
            "from_zero": sdpa_from_zero,
            "mere_mask": sdpa_mere_mask,
            "no_scale": lambda i, c: sdpa_plain(i, c, scale=1.0),
        },
        damages=(*CELLS, "head", "clipped"),
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
        damages=(*CELLS, "head", "clipped"),
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
            "unsigned": lambda i, c: score_plain(i, c, unsigned=True),
            "from_zero": lambda i, c: from_zero(score_plain(i, c)),
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
            "unsigned": lambda i, c: prefill_plain(i, c, unsigned=True),
            "from_zero": lambda i, c: from_zero(prefill_plain(i, c)),
            "filled_up": prefill_filled_up,
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
            "limited": lambda i, c: moe(i, c, limit=7.0),
            "careless_exponential": lambda i, c: moe(i, c, careless=True),
            "wrong_expert": lambda i, c: moe(i, c, expert_shift=1),
        },
        damages=CELLS,
    ),
}
