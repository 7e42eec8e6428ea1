"""Draws: reproducible, in the contract's shapes, and telling."""

import math

import msgspec
import pytest
import torch

from cacheon.contract.case import Case
from cacheon.contract.slots import SLOTS
from cacheon.engine.grader.compare.blocks import lost, rank
from cacheon.engine.grader.draws import (
    DrawKey,
    Extreme,
    draw_inputs,
    draw_weights,
    poison_inputs,
)
from cacheon.engine.grader.draws.decode import LOGIT

from .cases import DTYPES, NAMES, case_of, drawn, expected, key_of, small_cases

EXTREMES: tuple[Extreme, ...] = ("any", "minimal", "maximal")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_is_a_function_of_its_key(name: str) -> None:
    case = small_cases(name, "bfloat16", 1)[1]
    first = drawn(case, 1, 0)
    torch.manual_seed(5)
    assert same(first, drawn(case, 1, 0))
    for other in (drawn(case, 2, 0), drawn(case, 1, 1), drawn(case, 1, 0, where="B")):
        for spec in case.tensors:
            if spec.role == "activation" and spec.dtype == "bfloat16":
                assert not torch.equal(first[spec.name], other[spec.name]), spec.name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_contracts_shapes_and_finite_values(name: str, dtype: str) -> None:
    for case in small_cases(name, dtype, 2):
        for extreme in EXTREMES:
            inputs = drawn(case, 2, 1, extreme)
            assert set(inputs) == {t.name for t in case.tensors if t.role != "output"}
            for tensor in case.tensors:
                if tensor.role == "output":
                    continue
                values = inputs[tensor.name]
                assert tuple(values.shape) == tensor.shape
                assert str(values.dtype) == f"torch.{tensor.dtype}"
                assert values.is_contiguous()
                assert bool(values.isfinite().all())


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_near_one_and_far_from_overflow(name: str) -> None:
    for case in small_cases(name, "float16", 3):
        for turn in (0, 1):
            right = expected(case, drawn(case, 3, turn))
            seen = right[right > -math.inf]
            assert 0.05 < float(seen.square().mean().sqrt()) < 2000
            assert float(seen.abs().max()) < 20000


def test_weights_depend_on_seed_layer_and_shape_only() -> None:
    slot = SLOTS["norm.rmsnorm"]
    one, other = (case_of(slot.name, T=rows, H=64) for rows in (3, 9))
    weights = draw_weights(slot, one, 0, 1, "cpu")
    assert same(weights, draw_weights(slot, other, 0, 1, "cpu"))
    assert not same(weights, draw_weights(slot, one, 1, 1, "cpu"))
    assert not same(weights, draw_weights(slot, one, 0, 2, "cpu"))
    assert (
        draw_weights(
            SLOTS["attention.sdpa"], case_of("attention.sdpa", T=2, Hq=1, Hkv=1, D=8), 0, 1, "cpu"
        )
        == {}
    )


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("activation.silu_and_mul", "x"),
        ("norm.rmsnorm", "x"),
        ("attention.sdpa", "k"),
        ("attention.decode", "v"),
        ("attention.msa_block_score", "q"),
        ("attention.msa_prefill_block_score", "index_k"),
        ("moe.fused_experts", "x"),
    ],
)
def test_zeros_of_both_signs_occur(name: str, tensor: str) -> None:
    case = small_cases(name, "bfloat16", 4)[2]
    values = drawn(case, 4, 0)[tensor].flatten()
    zeros = values[values == 0]
    assert 0 < int(zeros.signbit().sum()) < zeros.numel()


def test_large_tensors_on_a_cpu_are_standard_normal_too() -> None:
    case = case_of("activation.silu_and_mul", "float32", T=256, d=512)
    values = drawn(case, 1, 0)["x"].flatten()
    ordinary = values[values.abs() < 4]
    assert abs(float(ordinary.mean())) < 0.02
    assert abs(float(ordinary.std()) - 1) < 0.05
    assert len(set(values.tolist())) > 0.7 * values.numel()


@pytest.mark.parametrize("turn", range(20))
def test_a_careless_exponential_overflows_in_every_draw(turn: int) -> None:
    case = case_of("activation.silu_and_mul", "bfloat16", T=1, d=64)
    gate, _ = drawn(case, 1, turn)["x"].float().chunk(2, -1)
    assert not bool(gate.exp().isfinite().all())


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("first", range(4))
def test_every_row_of_a_norm_is_small_in_one_of_two_rounds(rows: int, first: int) -> None:
    case = case_of("norm.rmsnorm", "float32", T=rows, H=128)
    small = torch.zeros(rows, dtype=torch.bool)
    for turn in (first, first + 1):
        small |= drawn(case, 1, turn)["x"].abs().mean(-1) < 1e-2
    assert bool(small.all())


def test_the_rows_of_a_norm_have_three_scales() -> None:
    case = case_of("norm.rmsnorm", "float16", T=4, H=256)
    scales = sorted(drawn(case, 1, 0)["x"].float().square().mean(-1).sqrt().tolist())
    wanted = (1e-3, 1e-3, 1, 1e3)
    assert all(0.5 < scale / want < 2.5 for scale, want in zip(scales, wanted, strict=True))


@pytest.mark.parametrize("dims", [(1, 2), (1, 3), (4, 16), (7, 64)])
def test_decode_lengths_reach_their_ends_and_never_stay_full(dims: tuple[int, int]) -> None:
    rows, cache = dims
    case = case_of("attention.decode", "float32", B=rows, Hq=2, Hkv=1, D=64, S=cache)
    full = torch.ones(rows, dtype=torch.bool)
    for turn in range(6):
        for extreme in EXTREMES:
            lengths = drawn(case, 1, turn, extreme)["seq_lens"]
            assert int(lengths.min()) >= 1
            assert int(lengths.max()) <= cache
            full &= lengths == cache
            if extreme == "minimal":
                assert int(lengths.max()) <= 2
            if extreme == "maximal":
                assert int(lengths.min()) >= cache - 1
    assert not bool(full.any())


def test_a_cache_of_one_key_can_be_drawn() -> None:
    case = case_of("attention.decode", "float32", B=2, Hq=2, Hkv=1, D=64, S=1)
    for extreme in EXTREMES:
        assert drawn(case, 1, 0, extreme)["seq_lens"].tolist() == [1, 1]


def test_decode_has_a_needle_at_the_end_in_every_row_of_two_rounds() -> None:
    case = case_of("attention.decode", "float32", B=3, Hq=4, Hkv=2, D=64, S=24)
    needled = torch.zeros(3, dtype=torch.bool)
    for turn in (4, 5):
        i = drawn(case, 1, turn)
        rows = torch.arange(3)
        last = i["seq_lens"].long() - 1
        keys = i["k"].repeat_interleave(2, 2)
        end = (i["q"] * keys[rows, last]).sum(-1) * 64**-0.5
        needled |= (end - LOGIT).abs().amax(-1) < 0.4
        inside = last + 1 < 24
        after = (i["q"] * keys[rows, (last + 1).clamp(max=23)]).sum(-1) * 64**-0.5
        assert bool(((after - LOGIT).abs().amax(-1) < 0.4)[inside].all())
    assert bool(needled.all())


@pytest.mark.parametrize("blocks", [1, 2, 9, 12, 40])
def test_score_lengths_touch_block_boundaries(blocks: int) -> None:
    case = case_of("attention.msa_block_score", "float32", B=5, Hq=2, D=64, S=blocks * 128)
    touched = set()
    for turn in range(4):
        for extreme in EXTREMES:
            lengths = drawn(case, 1, turn, extreme)["seq_lens"]
            assert int(lengths.min()) >= 1
            assert int(lengths.max()) <= blocks * 128
            touched |= {int(length) % 128 for length in lengths}
    assert blocks == 1 or {0, 1} <= touched


def clear_rows(case: Case, seed: int, turn: int) -> float:
    """The share of rows whose best 8 blocks are beyond doubt."""
    right = expected(case, drawn(case, seed, turn))
    top = right.topk(9, dim=-1).values
    ranks = top[:, 8] > -math.inf
    gap = (top[:, 7] - top[:, 8]) / top[:, :1].abs().squeeze(-1)
    return float((gap[ranks] > 0.12).double().mean()) if bool(ranks.any()) else 1.0


@pytest.mark.parametrize("name", [name for name in NAMES if "msa" in name])
def test_the_best_blocks_are_beyond_doubt(name: str) -> None:
    for seed in range(6):
        for case in small_cases(name, "bfloat16", seed):
            assert clear_rows(case, seed, seed) > 0.99, case.label


@pytest.mark.parametrize("head_dim", [64, 128])
def test_one_key_too_many_or_too_few_moves_a_block_in_every_row(head_dim: int) -> None:
    case = case_of(
        "attention.msa_prefill_block_score", "bfloat16", T=50, P=14, D=head_dim, block=64
    )
    prefix = int(case.scalars["prefix_len"])
    for seed in range(12):
        for turn, shift in ((seed, 1), (seed, -1)):
            turn += (turn % 2 == 0) == (shift == 1)
            inputs = drawn(case, seed, turn)
            shifted = build_shifted(case, prefix + shift)
            ranking = rank(expected(case, inputs)[None], 8)
            moved = lost(ranking, expected(shifted, inputs)[None])[0] > 0
            # There is no key behind the one that the last row sees.
            assert float(moved[:-1].double().mean()) > 0.97, (seed, turn)


def build_shifted(case: Case, prefix: int) -> Case:
    return msgspec.structs.replace(case, scalars={**case.scalars, "prefix_len": prefix})


@pytest.mark.parametrize("dims", [(1, 4, 1), (4, 8, 2), (33, 16, 4), (5, 4, 4), (64, 32, 8)])
@pytest.mark.parametrize("extreme", EXTREMES)
def test_routing_is_valid(dims: tuple[int, int, int], extreme: Extreme) -> None:
    rows, experts, choices = dims
    case = case_of("moe.fused_experts", "float32", M=rows, E=experts, H=64, I=32, K=choices)
    for turn in range(3):
        inputs = drawn(case, 1, turn, extreme)
        ids, weights = inputs["topk_ids"].long(), inputs["topk_weights"]
        assert int(ids.min()) >= 0
        assert int(ids.max()) < experts
        assert all(len(set(row)) == choices for row in ids.tolist())
        assert float(weights.min()) > 0
        assert float((weights.sum(-1) - 1).abs().min()) > 0.1
        groups = ids.flatten().bincount(minlength=experts)
        if extreme == "minimal" and rows * choices <= experts:
            assert int(groups.max()) <= 2
        if extreme == "maximal":
            assert int((groups > 0).sum()) <= choices + 2
            assert int(groups.max()) >= rows // 2


def test_poison_is_valid_and_not_what_is_drawn() -> None:
    decode = case_of("attention.decode", "float32", B=5, Hq=2, Hkv=1, D=64, S=8)
    score = case_of("attention.msa_block_score", "float32", B=5, Hq=2, D=64, S=1280)
    moe = case_of("moe.fused_experts", "float32", M=6, E=8, H=64, I=32, K=2)
    for case in (decode, score, moe):
        slot = SLOTS[case.slot]
        for turn in range(4):
            poison = poison_inputs(slot, case, key_of(case, 1, turn), "cpu")
            assert set(poison) == {t.name for t in case.tensors if t.dtype == "int32"}
            for name, values in poison.items():
                assert values.dtype == torch.int32
                assert tuple(values.shape) == case.tensor(name).shape
                for extreme in EXTREMES:
                    true = drawn(case, 1, turn, extreme)[name]
                    if name == "seq_lens":
                        assert bool((true != values).all())
                        assert int(values.min()) >= 1
                        assert int(values.max()) <= case.dims["S"]
                    else:
                        pairs = zip(true.tolist(), values.tolist(), strict=True)
                        assert all(set(right) != set(wrong) for right, wrong in pairs)
                        assert all(len(set(row)) == len(row) for row in values.tolist())
    assert (
        poison_inputs(
            SLOTS["norm.rmsnorm"], case_of("norm.rmsnorm", T=2, H=8), key_of(decode, 1, 0), "cpu"
        )
        == {}
    )


def test_a_tensors_values_do_not_depend_on_the_others() -> None:
    """Heads of v may change; k stays."""
    one = case_of("attention.sdpa", "float32", T=5, Hq=4, Hkv=2, D=32)
    other = case_of("attention.sdpa", "float32", T=5, Hq=8, Hkv=2, D=32)
    key = DrawKey(1, one.slot, "same", "A", 0)
    drawn_k = [
        draw_inputs(SLOTS[case.slot], case, {}, key, "any", "cpu")["k"] for case in (one, other)
    ]
    assert torch.equal(*drawn_k)
