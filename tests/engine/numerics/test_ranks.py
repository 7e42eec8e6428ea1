"""Collectives: what is drawn for each rank, what is expected of all, what is told apart."""

from collections.abc import Callable
from itertools import combinations

import pytest
import torch

from cacheon.contract.case import Case
from cacheon.contract.coverage import build_case, cases_for
from cacheon.contract.descriptor import Context
from cacheon.contract.domain import Domain
from cacheon.contract.slots import SLOTS
from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.draws import (
    DrawKey,
    Extreme,
    draw_inputs,
    draw_weights,
    poison_inputs,
)
from cacheon.engine.grader.references import OverRanks, reference_for

from .cases import DTYPES
from .rank_implementations import (
    Inputs,
    Outputs,
    all_reduce,
    ar_norm,
    clipped,
    eight_bits,
    experts,
    experts_rounded,
    finalize,
    largest,
    mean,
    norm_before_the_sum,
    ring,
    tree,
    twice,
    without,
)

Implementation = Callable[[Inputs, Case], Outputs]
NAMES = tuple(name for name, slot in SLOTS.items() if slot.kind == "collective")
EXTREMES: tuple[Extreme, ...] = ("any", "minimal", "maximal")
WORLDS = (2, 3, 8)

HONEST: dict[str, dict[str, Implementation]] = {
    "collective.all_reduce": {
        "exact": all_reduce,
        "ring": lambda i, c: all_reduce(i, c, ring),
        "tree": lambda i, c: all_reduce(i, c, tree),
    },
    "collective.ar_residual_rmsnorm": {
        "exact": ar_norm,
        "rounded": lambda i, c: ar_norm(i, c, ring, rounded=True),
        "tree": lambda i, c: ar_norm(i, c, tree, rounded=True),
    },
    "collective.moe_finalize_ar_rmsnorm": {
        "exact": finalize,
        "rounded": lambda i, c: finalize(i, c, ring, accumulate=i["gemm_out"].dtype),
        "tree": lambda i, c: finalize(i, c, tree),
    },
    "moe.fused_experts_reduce": {
        "exact": experts,
        "rounded": experts_rounded,
        "tree": lambda i, c: experts(i, c, tree),
    },
}
SUMS = {
    "first_missing": without(0),
    "second_missing": without(1),
    "first_twice": twice(0),
    "mean": mean,
    "largest": largest,
}
WRONG: dict[str, dict[str, Implementation]] = {
    "collective.all_reduce": {
        "clipped": lambda i, c: all_reduce(i, c, clipped),
        "eight_bits": lambda i, c: all_reduce(i, c, eight_bits),
    },
    "collective.ar_residual_rmsnorm": {
        "no_eps": lambda i, c: ar_norm(i, c, eps=0.0),
        "no_residual": lambda i, c: ar_norm(i, c, residual=False),
        "norm_before_the_sum": norm_before_the_sum,
    },
    "collective.moe_finalize_ar_rmsnorm": {
        "no_eps": lambda i, c: finalize(i, c, eps=0.0),
        "no_scales": lambda i, c: finalize(i, c, scaled=False),
        "no_map": lambda i, c: finalize(i, c, mapped=False),
        "map_by_token": lambda i, c: finalize(i, c, outermost="T"),
    },
    "moe.fused_experts_reduce": {
        "weights_of_the_first": lambda i, c: experts(i, c, weights_of=0),
        "no_weights": lambda i, c: experts(i, c, weighting="none"),
    },
}
BASE: dict[str, Callable[..., Outputs]] = {
    "collective.all_reduce": all_reduce,
    "collective.ar_residual_rmsnorm": ar_norm,
    "collective.moe_finalize_ar_rmsnorm": finalize,
    "moe.fused_experts_reduce": experts,
}


def context(dtype: str, world: int) -> Context:
    return Context(
        dtype=dtype,
        architecture="sm90",
        graph_mode="cuda_graph",
        tp_size=world,
        world_size=world,
    )


def small_cases(name: str, dtype: str, world: int, seed: int) -> tuple[Case, ...]:
    return cases_for(
        SLOTS[name], "default", Domain(), context(dtype, world), seed=seed, small=True
    ).cases


def drawn(case: Case, seed: int, turn: int, extreme: Extreme = "any", where: str = "A") -> Inputs:
    slot = SLOTS[case.slot]
    weights = draw_weights(slot, case, 0, seed, "cpu")
    key = DrawKey(seed, case.slot, case.label, where, turn)
    return {**weights, **draw_inputs(slot, case, weights, key, extreme, "cpu")}


def right(case: Case, inputs: Inputs, answers: Outputs) -> bool:
    """Whether every output is within the slot's bounds."""
    expected = reference_for(case.slot)(inputs, case.scalars, case)
    assert set(answers) == set(expected)
    return all(
        measure(SLOTS[case.slot], case, expected[name][None], answer[None])[0][0].ok
        for name, answer in answers.items()
    )


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NAMES)
def test_ranks_come_first_and_hold_values_of_their_own(name: str, world: int) -> None:
    case = small_cases(name, "bfloat16", world, 1)[0]
    seen: list[torch.Tensor] = []
    for turn, where in ((0, "A"), (1, "A"), (0, "B0")):
        inputs = drawn(case, 1, turn, where=where)
        for tensor in case.tensors:
            if tensor.role == "output":
                continue
            values = inputs[tensor.name]
            ranks = (world,) if tensor.rank_varying else ()
            assert tuple(values.shape) == (*ranks, *tensor.shape), tensor.name
            assert str(values.dtype) == f"torch.{tensor.dtype}"
            assert values.is_contiguous() and bool(values.isfinite().all())
            if tensor.rank_varying and tensor.role == "activation":
                seen += values
    assert not any(torch.equal(a, b) for a, b in combinations(seen, 2))


def test_weights_that_differ_by_rank_do_and_others_do_not() -> None:
    (case, *_) = small_cases("moe.fused_experts_reduce", "float32", 3, 1)
    weights = draw_weights(SLOTS[case.slot], case, 0, 7, "cpu")
    assert not any(torch.equal(a, b) for a, b in combinations(weights["w13"], 2))
    again = draw_weights(SLOTS[case.slot], case, 0, 7, "cpu")
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    other = draw_weights(SLOTS[case.slot], case, 1, 7, "cpu")
    assert not any(torch.equal(weights[name], other[name]) for name in weights)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_honest_implementations_pass_every_draw(name: str, dtype: str, world: int) -> None:
    for seed in range(4):
        for case in small_cases(name, dtype, world, seed):
            inputs = drawn(case, seed, seed, EXTREMES[seed % 3])
            for who, implementation in HONEST[name].items():
                assert right(case, inputs, implementation(inputs, case)), (who, case.label, seed)


@pytest.mark.parametrize("world", [16, 32])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_ring_of_many_ranks_passes(dtype: str, world: int) -> None:
    rings: dict[str, Implementation] = {
        "collective.all_reduce": lambda i, c: all_reduce(i, c, ring),
        "collective.ar_residual_rmsnorm": HONEST["collective.ar_residual_rmsnorm"]["tree"],
        "collective.moe_finalize_ar_rmsnorm": lambda i, c: finalize(i, c, ring),
    }
    for name, implementation in rings.items():
        for seed in range(3):
            for case in small_cases(name, dtype, world, seed):
                inputs = drawn(case, seed, seed)
                assert right(case, inputs, HONEST[name]["tree"](inputs, case)), case.label
                assert right(case, inputs, implementation(inputs, case)), case.label


@pytest.mark.parametrize("world", [2, 3, 8, 16, 64])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_no_order_of_summing_rounds_the_large_value_of_a_row(dtype: str, world: int) -> None:
    """It is most of its tile: what each rank's addition rounds off it would be the tile's error."""
    for name in ("collective.all_reduce", "collective.ar_residual_rmsnorm"):
        for case in small_cases(name, dtype, world, 2):
            for turn in (0, 1):
                x = drawn(case, 2, turn)["x"]
                large = x.abs().amax(0).argmax(-1, keepdim=True)
                parts = x.gather(-1, large.expand(world, *large.shape))
                whole = parts.double().sum(0)
                for order in (parts, parts.flip(0), parts.roll(1, 0)):
                    assert torch.equal(ring(order).double(), whole), case.label
                assert torch.equal(tree(parts).double(), whole), case.label


def test_nobody_adds_to_the_large_values_that_multipliers_scale() -> None:
    for case in small_cases("collective.moe_finalize_ar_rmsnorm", "bfloat16", 8, 2):
        for turn in (0, 1):
            parts = drawn(case, 2, turn)["gemm_out"]
            large = parts.abs() > 10.0
            assert bool(large.any(-1).any(0).float().mean() > 0.5), "few rows have a large value"
            rank, _, column = large.nonzero().unbind(-1)
            beside = parts[:, :, column].abs().amax(1) > 0
            assert bool((beside.sum(0) == 1).all()) and bool(beside[rank, range(len(rank))].all())


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_wrong_ones_fail_in_one_of_two_rounds(name: str, dtype: str, world: int) -> None:
    base = BASE[name]
    wrong = {
        who: (lambda i, c, total=total: base(i, c, total)) for who, total in SUMS.items()
    } | WRONG.get(name, {})
    for case in small_cases(name, dtype, world, 3):
        rounds = [drawn(case, 3, turn, extreme) for turn, extreme in ((0, "any"), (1, "maximal"))]
        for who, implementation in wrong.items():
            if who == "map_by_token" and case.dims["K"] == 1:
                continue
            passed = [right(case, inputs, implementation(inputs, case)) for inputs in rounds]
            assert not all(passed), (who, case.label)


@pytest.mark.parametrize("name", NAMES)
def test_yesterdays_answer_fails_today(name: str) -> None:
    for case in small_cases(name, "bfloat16", 2, 1):
        old = HONEST[name]["exact"](drawn(case, 1, 2), case)
        assert not right(case, drawn(case, 1, 3), old), case.label


@pytest.mark.parametrize("name", NAMES)
def test_one_rank_of_yesterday_fails_today(name: str) -> None:
    """A partial sum that was kept is no contribution to the next call."""
    reference = reference_for(name)
    assert isinstance(reference, OverRanks)
    for case in small_cases(name, "bfloat16", 8, 1):
        if name == "moe.fused_experts_reduce":
            continue
        old, now = drawn(case, 1, 2), drawn(case, 1, 4)
        parts = reference.contributions(now, case.scalars, case)
        stale = parts.sum(0) - parts[3] + reference.contributions(old, case.scalars, case)[3]
        answers = reference.whole(stale, now, case.scalars, case)
        dtype = now["x" if "x" in now else "gemm_out"].dtype
        assert not right(case, now, {n: a.to(dtype) for n, a in answers.items()}), case.label


def test_poison_is_valid_and_other() -> None:
    for case in small_cases("collective.moe_finalize_ar_rmsnorm", "bfloat16", 2, 1):
        key = DrawKey(1, case.slot, case.label, "A", 0)
        poison = poison_inputs(SLOTS[case.slot], case, key, "cpu")["row_map"]
        (rows,) = case.tensor("row_map").shape
        assert poison.dtype == torch.int32 and tuple(poison.shape) == (rows,)
        assert bool(((poison >= 0) & (poison < rows)).all())
        inputs = drawn(case, 1, 0)
        assert not right(case, inputs, finalize({**inputs, "row_map": poison}, case))


def by_hand(i: Inputs, case: Case) -> Outputs:
    """collective.moe_finalize_ar_rmsnorm, cell by cell."""
    expanded, choices = i["scales"].shape
    tokens, hidden = i["residual"].shape
    out = i["residual"].clone()
    for t in range(tokens):
        for k in range(choices):
            row = int(i["row_map"][k * expanded + t])
            for rank in range(len(i["gemm_out"])):
                out[t] += i["gemm_out"][rank, row] * i["scales"][t, k]
    mean_square = sum(out[:, h] ** 2 for h in range(hidden)) / hidden
    norm = out / torch.sqrt(mean_square + 1e-6)[:, None] * i["weight"]
    return {"out_norm": norm, "out_residual": out}


def test_the_reference_is_the_definition_written_out() -> None:
    dims = {"T": 3, "Te": 5, "K": 2, "H": 32}
    slot = SLOTS["collective.moe_finalize_ar_rmsnorm"]
    case = build_case(slot, "v", dims, {}, context("float32", 3), Domain(), "catalogue")
    inputs = drawn(case, 1, 0)
    double = {n: t.double() if t.is_floating_point() else t for n, t in inputs.items()}
    expected, told = reference_for(slot.name)(inputs, case.scalars, case), by_hand(double, case)
    for name, answer in told.items():
        torch.testing.assert_close(expected[name], answer, atol=1e-6, rtol=1e-6)
