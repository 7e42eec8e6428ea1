"""References against definitions written out key by key, and in slices."""

import math
from collections.abc import Callable

import pytest
import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references import fused_experts, precision

from .cases import case_of, drawn, expected

Inputs = dict[str, torch.Tensor]


def attend(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> torch.Tensor:
    weights = torch.stack([(q * key).sum() * scale for key in keys]).softmax(0)
    return (weights[:, None] * values).sum(0)


def by_hand_silu(i: Inputs, case: Case) -> torch.Tensor:
    d = case.dims["d"]
    gate, up = i["x"][:, :d], i["x"][:, d:]
    return gate / (1 + torch.exp(-gate)) * up


def by_hand_rms(i: Inputs, case: Case) -> torch.Tensor:
    rows = []
    for row in i["x"]:
        mean = sum(float(value) ** 2 for value in row) / len(row)
        rows.append(row / math.sqrt(mean + 1e-6) * i["weight"])
    return torch.stack(rows)


def by_hand_sdpa(i: Inputs, case: Case) -> torch.Tensor:
    out = torch.empty_like(i["q"])
    group = case.dims["Hq"] // case.dims["Hkv"]
    for t in range(out.shape[0]):
        seen = t + 1 if case.scalars["causal"] else out.shape[0]
        for h in range(out.shape[1]):
            keys, values = i["k"][:seen, h // group], i["v"][:seen, h // group]
            out[t, h] = attend(i["q"][t, h], keys, values, float(case.scalars["sm_scale"]))
    return out


def by_hand_decode(i: Inputs, case: Case) -> torch.Tensor:
    out = torch.empty_like(i["q"])
    group = case.dims["Hq"] // case.dims["Hkv"]
    for b in range(out.shape[0]):
        seen = int(i["seq_lens"][b])
        for h in range(out.shape[1]):
            keys, values = i["k"][b, :seen, h // group], i["v"][b, :seen, h // group]
            out[b, h] = attend(i["q"][b, h], keys, values, float(case.scalars["sm_scale"]))
    return out


def by_hand_score(i: Inputs, case: Case) -> torch.Tensor:
    block = int(case.scalars["block_size"])
    rows, keys = i["index_k"].shape[:2]
    out = torch.full((rows, keys // block), -math.inf, dtype=torch.float64)
    for b in range(rows):
        for n in range(int(i["seq_lens"][b])):
            score = sum((q * i["index_k"][b, n, 0]).sum() for q in i["q"][b])
            out[b, n // block] = torch.maximum(out[b, n // block], torch.as_tensor(score))
    return out


def by_hand_prefill(i: Inputs, case: Case) -> torch.Tensor:
    block, prefix = int(case.scalars["block_size"]), int(case.scalars["prefix_len"])
    rows, keys = case.dims["T"], case.dims["S"]
    out = torch.full((rows, math.ceil(keys / block)), -math.inf, dtype=torch.float64)
    for m in range(rows):
        for n in range(prefix + m + 1):
            score = (i["q"][m] * i["index_k"][n]).sum() * case.scalars["scale"]
            out[m, n // block] = torch.maximum(out[m, n // block], score)
    return out


def by_hand_moe(i: Inputs, case: Case) -> torch.Tensor:
    out = torch.zeros_like(i["x"])
    inner = case.dims["I"]
    for m, x in enumerate(i["x"]):
        for expert, weight in zip(i["topk_ids"][m].tolist(), i["topk_weights"][m], strict=True):
            gate, up = i["w13"][expert, :inner] @ x, i["w13"][expert, inner:] @ x
            hidden = gate / (1 + torch.exp(-gate)) * up
            out[m] += weight * (i["w2"][expert] @ hidden)
    return out


BY_HAND: list[tuple[Case, Callable[[Inputs, Case], torch.Tensor]]] = [
    (case_of("activation.silu_and_mul", T=3, d=40), by_hand_silu),
    (case_of("norm.rmsnorm", T=4, H=40), by_hand_rms),
    (case_of("attention.sdpa", T=6, Hq=4, Hkv=2, D=16), by_hand_sdpa),
    (case_of("attention.sdpa", causal=False, T=6, Hq=4, Hkv=2, D=16), by_hand_sdpa),
    (case_of("attention.decode", B=3, Hq=4, Hkv=2, D=16, S=9), by_hand_decode),
    (case_of("attention.msa_block_score", B=3, Hq=2, D=16, S=384), by_hand_score),
    (case_of("attention.msa_prefill_block_score", T=5, P=3, D=16, block=64), by_hand_prefill),
    (case_of("moe.fused_experts", M=5, E=6, H=24, I=16, K=3), by_hand_moe),
]
IDS = [f"{case.slot} {case.label}" for case, _ in BY_HAND]


@pytest.mark.parametrize(("case", "by_hand"), BY_HAND, ids=IDS)
@pytest.mark.parametrize("turn", [0, 1])
def test_references_are_the_definition(
    case: Case, by_hand: Callable[[Inputs, Case], torch.Tensor], turn: int
) -> None:
    inputs = drawn(case, 11, turn)
    exact = {
        name: value.double() if value.is_floating_point() else value
        for name, value in inputs.items()
    }
    torch.testing.assert_close(
        expected(case, inputs), by_hand(exact, case).double(), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(("case", "by_hand"), BY_HAND, ids=IDS)
def test_large_references_are_the_same_in_slices_of_float32(
    case: Case, by_hand: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = drawn(case, 12, 1)
    whole = expected(case, inputs)
    assert whole.dtype == torch.float64
    monkeypatch.setattr(precision, "ELEMENTS", 0)
    monkeypatch.setattr(precision, "PRODUCTS", 0)
    monkeypatch.setattr(precision, "SCRATCH", 64)
    sliced = expected(case, inputs)
    assert sliced.dtype == torch.float32
    torch.testing.assert_close(sliced.double(), whole, rtol=2e-5, atol=2e-5)


def test_both_ways_through_the_experts_agree() -> None:
    case = case_of("moe.fused_experts", M=7, E=9, H=32, I=16, K=3)
    inputs = drawn(case, 13, 0)
    ways = [
        way(inputs, torch.float64)
        for way in (fused_experts._every_expert, fused_experts._chosen_experts)
    ]
    torch.testing.assert_close(*ways, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("asked", ["tf32", "ieee"])
def test_exact_products_are_exact_and_give_back_what_was_asked(asked: str) -> None:
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    try:
        settings.fp32_precision = asked
        with precision.exact_products():
            assert settings.fp32_precision == "ieee"
        assert settings.fp32_precision == asked
    finally:
        settings.fp32_precision = before
