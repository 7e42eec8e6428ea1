"""The cases of a variant: in the domain, distinct, reproducible, and at every end."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cacheon.contract import coverage as planning
from cacheon.contract import region as searching
from cacheon.contract.building import base_of, choices_of
from cacheon.contract.coverage import Coverage, build_case, cases_for, larger, valid, work_of
from cacheon.contract.descriptor import Context, with_derived
from cacheon.contract.domain import Domain, parse_domain
from cacheon.contract.region import Region, Undecided
from cacheon.contract.slots import SLOTS

CONTEXT = Context(dtype="bfloat16", architecture="sm90", graph_mode="cuda_graph")
SILU, RMS = "activation.silu_and_mul", "norm.rmsnorm"
DECODE, PREFILL = "attention.decode", "attention.msa_prefill_block_score"
FINALIZE = "collective.moe_finalize_ar_rmsnorm"


def cover(name: str, seed: int = 7, **options: Any) -> Coverage:
    capabilities = options.pop("capabilities", {})
    domain = parse_domain(capabilities, "k.json")
    return cases_for(SLOTS[name], "v", domain, CONTEXT, seed=seed, **options)


def values(found: Coverage, field: str) -> set[int]:
    return {int(case.descriptor[field]) for case in found.cases if case.applicable}


def boundaries(found: Coverage) -> list[str]:
    return [case.label for case in found.cases if case.origin == "boundary"]


@pytest.mark.parametrize("name", SLOTS)
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2**47])
def test_the_catalogue_is_jittered_in_its_counts_only(name: str, small: bool, seed: int) -> None:
    contract = SLOTS[name]
    found = cover(name, seed, small=small)
    assert found.full
    assert len(found.cases) == len(contract.catalogue)
    for case, shape in zip(found.cases, contract.catalogue, strict=True):
        base = {key: case.dims[key] for key in shape.dims}
        assert valid(contract, base)
        for key, n in shape.dims.items():
            if key not in contract.counts:
                assert base[key] == n or (small and base[key] <= 512 and n % base[key] == 0)
            elif not small:
                assert max(1, -(-3 * n // 4)) <= base[key] <= 5 * n // 4 + 3
            elif key not in contract.multiples:
                assert base[key] <= 64


@pytest.mark.parametrize("name", SLOTS)
def test_a_seed_repeats_its_cases_and_another_gives_others(name: str) -> None:
    assert cover(name, 5) == cover(name, 5)
    assert cover(name, 5).cases != cover(name, 6).cases


def test_variants_and_slots_draw_differently() -> None:
    one = cases_for(SLOTS[RMS], "a", Domain(), CONTEXT, seed=1)
    other = cases_for(SLOTS[RMS], "b", Domain(), CONTEXT, seed=1)
    assert [c.dims for c in one.cases] != [c.dims for c in other.cases]


def test_golden_draws() -> None:
    """Evidence names a seed: what a seed means must never change."""
    labels = [case.label for case in cover(SILU, 7).cases]
    assert labels == [
        "num_tokens=3 intermediate_dim=1024",
        "num_tokens=10 intermediate_dim=1024",
        "num_tokens=143 intermediate_dim=4096",
        "num_tokens=4102 intermediate_dim=4096",
        "num_tokens=268 intermediate_dim=2880",
    ]


@pytest.mark.parametrize("name", [SILU, RMS, "attention.sdpa", "moe.fused_experts"])
def test_a_small_form_has_a_case_of_whole_tiles(name: str) -> None:
    for seed in range(20):
        counts = [case.descriptor["num_tokens"] for case in cover(name, seed, small=True).cases]
        assert any(int(count) % 16 == 0 for count in counts), (seed, counts)
        assert any(int(count) % 16 for count in counts), (seed, counts)


def test_shapes_outside_the_domain_are_listed_as_not_applicable() -> None:
    found = cover(RMS, capabilities={"num_tokens": {"max": 100}})
    listed = [case for case in found.cases if case.origin == "catalogue"]
    assert [case.applicable for case in listed] == [True, True, False, True, False, False]
    assert listed[4].descriptor["num_tokens"] == 4096


def test_a_domain_of_one_call_gets_that_call() -> None:
    found = cover(SILU, capabilities={"num_tokens": 333, "intermediate_dim": 2880})
    assert [case.label for case in found.cases if case.applicable] == [
        "num_tokens=333 intermediate_dim=2880"
    ]
    assert found.full


def test_no_case_twice_where_a_domain_pins_the_counts() -> None:
    found = cover(SILU, capabilities={"num_tokens": 16}, small=True)
    assert len({case.label for case in found.cases}) == len(found.cases)


ENDS = [
    (SILU, {"num_tokens": {"min": 2, "max": 50_000}}, {"num_tokens": {2, 50_000}}),
    (SILU, {"last_dim": {"min": 1001, "max": 6001}}, {"last_dim": {1002, 6000}}),
    (SILU, {"intermediate_dim": [64, 2880, 11008]}, {"intermediate_dim": {64, 2880, 11008}}),
    (RMS, {"hidden_dim": 8192}, {"hidden_dim": {8192}}),
    (RMS, {"num_tokens": {"max": 256}}, {"num_tokens": {256}}),
    ("attention.sdpa", {"num_tokens": {"max": 99}, "kv_len": {"max": 77}}, {"num_tokens": {77}}),
    (DECODE, {"num_kv_heads": {"min": 3, "max": 5}}, {"num_kv_heads": {3, 5}}),
    (DECODE, {"num_q_heads": {"min": 3, "max": 100}, "num_kv_heads": 8}, {"num_q_heads": {8, 96}}),
    (
        "attention.msa_block_score",
        {"kv_len": {"min": 1, "max": 5000}},
        {"kv_len": {128, 4992}},
    ),
    (
        "attention.msa_block_score",
        {"block_size": [32, 64], "kv_len": {"min": 1000}},
        {"block_size": {32, 64}, "kv_len": {1024}},
    ),
    (PREFILL, {"kv_len": {"min": 1, "max": 131072}}, {"kv_len": {104, 131072}}),
    (PREFILL, {"block_size": {"min": 16, "max": 32}}, {"block_size": {16, 32}}),
    ("moe.fused_experts", {"top_k": {"max": 64}}, {"top_k": {64}}),
    ("moe.fused_experts", {"num_experts": [1, 60]}, {"num_experts": {1, 60}}),
    (FINALIZE, {"num_tokens": {"max": 64}, "exp_tokens": {"max": 32}}, {"num_tokens": {32}}),
]


@pytest.mark.parametrize(("name", "capabilities", "expected"), ENDS)
@pytest.mark.parametrize("small", [False, True])
def test_every_end_that_a_call_can_have_is_covered(
    name: str, capabilities: dict[str, Any], expected: dict[str, set[int]], small: bool
) -> None:
    found = cover(name, capabilities=capabilities, small=small)
    assert found.full, found.missing
    for field, ends in expected.items():
        assert ends <= values(found, field)
        assert all(work_of(case) <= 2 << 30 for case in found.cases)


def test_an_open_end_asks_for_nothing_but_a_limit_closes_it() -> None:
    capabilities = {"hidden_dim": {"min": 1000}}
    assert values(cover(RMS, capabilities=capabilities), "hidden_dim") == {
        1000, 1536, 2880, 4096, 6144,
    }  # fmt: skip
    limits = {"hidden_dim": (64, 8192), "num_tokens": (1, 512)}
    closed = cover(RMS, capabilities=capabilities, limits=limits)
    assert {1000, 8192} <= values(closed, "hidden_dim")
    assert max(values(closed, "num_tokens") - {4096}) <= 512


def test_ends_outside_the_limits_move_to_the_limits() -> None:
    found = cover(
        RMS,
        capabilities={"num_tokens": {"min": 0, "max": 10**6}},
        limits={"num_tokens": (4, 300)},
    )
    assert found.full
    assert {4, 300} <= values(found, "num_tokens")
    listed = cover(RMS, capabilities={"num_tokens": [5, 500]}, limits={"num_tokens": (4, 300)})
    assert boundaries(listed) == ["num_tokens=5 hidden_dim=2880"]


def test_what_the_budget_cannot_cover_is_said() -> None:
    found = cover(SILU, capabilities={"num_tokens": {"max": 10**7}})
    assert not found.full
    assert found.missing == (
        "num_tokens<=10000000: a call of 57.22 GiB is more than the work budget of 2.00 GiB",
    )


def test_limits_of_two_names_for_one_dimension_end_both() -> None:
    """num_tokens, q_len and kv_len are all T: the narrowest limit ends them, however far
    inside the others it lies."""
    limits = {"num_tokens": (1, 300), "kv_len": (1, 100_000)}
    found = cover("attention.sdpa", capabilities={"kv_len": {"min": 1}}, limits=limits)
    assert found.full, found.missing
    assert 300 in values(found, "kv_len")
    listed = cover(
        "attention.sdpa", capabilities={"num_tokens": [5, 40]}, limits={"kv_len": (1, 100_000)}
    )
    assert listed.full
    assert values(listed, "kv_len") == {5, 40}


def test_a_domain_that_its_own_names_exclude_asks_for_nothing() -> None:
    found = cover(SILU, capabilities={"last_dim": {"max": 9}, "intermediate_dim": {"min": 5}})
    assert found.full
    assert not boundaries(found)


SHRUNK = [
    (SILU, {"num_tokens": {"min": 100}}, "T", [1, 8, 100, 100, 100]),
    (SILU, {"num_tokens": {"max": 10}}, "T", [1, 8, 10, 10, 10]),
    (SILU, {"num_tokens": [3, 70, 120]}, "T", [1, 3, 3, 3, 3]),
    (DECODE, {"kv_len": {"min": 20, "max": 30}}, "S", [16, 20, 20, 20]),
    (PREFILL, {"kv_len": {"min": 2000}}, "T", [16, 16, 16, 64, 425, 512, 425]),
    (FINALIZE, {"num_tokens": {"min": 40}}, "Te", [16, 40, 40]),
]


@pytest.mark.parametrize(("name", "capabilities", "dim", "expected"), SHRUNK)
def test_a_small_count_outside_the_domain_moves_to_the_nearest_inside(
    name: str, capabilities: dict[str, Any], dim: str, expected: list[int]
) -> None:
    domain = parse_domain(capabilities, "k.json")
    planner = planning._Planner(SLOTS[name], "v", domain, CONTEXT, {}, 2 << 30)
    shapes = [planner._shrunk(shape.dims, shape.choices) for shape in SLOTS[name].catalogue]
    assert [shape[dim] for shape in shapes] == expected


def test_a_context_that_excludes_every_call_asks_for_no_ends() -> None:
    for excluded in ({"layout": "paged"}, {"dtype": "float16"}, {"page_size": 16}):
        found = cover(DECODE, capabilities={**excluded, "kv_len": {"max": 131072}})
        assert found.full
        assert not any(case.applicable for case in found.cases)
        assert not boundaries(found)


@pytest.mark.parametrize(
    "capabilities",
    [
        {"num_q_heads": 3, "num_kv_heads": 2},
        {"last_dim": {"max": 9}, "head_dim": {"min": 10}},
        {"num_q_heads": {"max": 4}, "num_kv_heads": {"min": 5}},
        {"num_q_heads": {"min": 7, "max": 9}, "num_kv_heads": {"min": 5, "max": 6}},
    ],
)
def test_a_domain_without_any_call_has_no_applicable_case(capabilities: dict[str, Any]) -> None:
    found = cover(DECODE, capabilities=capabilities)
    assert not any(case.applicable for case in found.cases)


def test_a_search_through_everything_finds_no_call_where_there_is_none() -> None:
    capabilities = {"num_q_heads": {"min": 7, "max": 9}, "num_kv_heads": {"min": 5, "max": 6}}
    region = Region(SLOTS[DECODE], parse_domain(capabilities, "k.json"), {})
    assert region.solve({}, SLOTS[DECODE].catalogue[0].dims) is None


def test_limits_that_leave_nothing_ask_for_nothing() -> None:
    capabilities = {"num_tokens": {"max": 64}, "hidden_dim": {"max": 4096}}
    found = cover(RMS, capabilities=capabilities, limits={"num_tokens": (100, 200)})
    assert not boundaries(found)


def test_constant_fields_are_held_against_their_constraint() -> None:
    assert cover(PREFILL, capabilities={"num_kv_heads": 1, "kv_len": {"max": 4000}}).full
    found = cover(PREFILL, capabilities={"num_kv_heads": 2, "kv_len": {"max": 4000}})
    assert not boundaries(found)


def test_long_lists_are_covered_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_BOUNDARIES", 3)
    found = cover(RMS, capabilities={"hidden_dim": [1, 2, 3, 4, 5]})
    assert len(boundaries(found)) == 3
    assert found.missing == ("hidden_dim=4 and what follows: too many cases for one domain",)


def test_an_end_far_from_any_call_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_INWARD", 10)
    found = cover("attention.msa_block_score", capabilities={"kv_len": {"min": 1, "max": 2048}})
    assert found.missing == ("kv_len>=1: no call found within 10 of it",)


def test_what_the_search_leaves_undecided_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_MOST_NODES", 2)
    found = cover(DECODE, capabilities={"kv_len": {"max": 100}})
    assert found.missing == ("kv_len<=100: whether a call has kv_len=100 was not decided",)


def test_a_search_that_left_values_out_does_not_claim_that_there_is_no_call() -> None:
    contract = SLOTS[PREFILL]
    capabilities = {
        "kv_len": 39 + 10 * 4096 + 3000,
        "block_size": 4096,
        "num_tokens": {"max": 4000},
    }
    region = Region(contract, parse_domain(capabilities, "k.json"), {})
    near = {"T": 16, "P": 12, "D": 128, "block": 4096}
    with pytest.raises(Undecided):
        region.solve({}, near)
    assert region.solve({}, {**near, "T": 3000}) == {**near, "T": 3000, "P": 10}
    # Walking inwards from the end of num_tokens finds the only call all the same.
    assert values(cover(PREFILL, capabilities=capabilities), "num_tokens") == {3000}


def test_a_search_that_tried_everything_says_that_there_is_no_call() -> None:
    contract = SLOTS[DECODE]
    capabilities = {"num_q_heads": {"min": 7, "max": 9}, "num_kv_heads": {"min": 5, "max": 6}}
    region = Region(contract, parse_domain(capabilities, "k.json"), {})
    assert region.solve({}, contract.catalogue[0].dims) is None


numbers = st.integers(1, 12)
ranges = st.one_of(
    st.fixed_dictionaries({"min": numbers, "max": numbers}).filter(lambda p: p["min"] <= p["max"]),
    st.lists(numbers, min_size=1, max_size=4),
)


def reachable(
    name: str, dims: dict[str, range | tuple[int, ...]], domain: Domain, field: str
) -> set[int | str]:
    """By brute force: what the field can be over a box of dimensions."""
    found = set()
    for chosen in itertools.product(*dims.values()):
        base = dict(zip(dims, chosen, strict=True))
        if valid(SLOTS[name], base):
            case = build_case(SLOTS[name], "v", base, {}, CONTEXT, domain, "boundary")
            if case.applicable:
                found.add(case.descriptor[field])
    return found


BOXES: dict[str, tuple[dict[str, range | tuple[int, ...]], list[str]]] = {
    SILU: ({"T": range(1, 13), "d": range(1, 7)}, ["num_tokens", "last_dim"]),
    DECODE: (
        {"B": (4,), "Hq": range(1, 13), "Hkv": range(1, 13), "D": (64,), "S": (16,)},
        ["num_q_heads", "num_kv_heads"],
    ),
    FINALIZE: (
        {"T": range(1, 13), "Te": range(1, 13), "K": (5,), "H": (4096,)},
        ["num_tokens", "exp_tokens"],
    ),
    "moe.fused_experts": (
        {"M": (4,), "E": range(1, 13), "H": (256,), "I": (128,), "K": range(1, 13)},
        ["num_experts", "top_k"],
    ),
}


@pytest.mark.parametrize("name", BOXES)
@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ends_are_those_of_brute_force(name: str, data: st.DataObject) -> None:
    box, fields = BOXES[name]
    capabilities = {field: data.draw(ranges, label=field) for field in fields}
    domain = parse_domain(capabilities, "k.json")
    found = cases_for(SLOTS[name], "v", domain, CONTEXT, seed=data.draw(st.integers(0, 99)))
    assert found.full, found.missing
    for field in fields:
        can = reachable(name, box, domain, field)
        predicate = capabilities[field]
        if isinstance(predicate, list):
            wanted = can & set(predicate)
        else:
            wanted = {min(can), max(can)} if can else set()
        assert wanted <= values(found, field)


CONSTRAINED: dict[str, st.SearchStrategy[Any]] = {
    "num_tokens": st.sampled_from([{"min": 3}, {"max": 40}, {"min": 5, "max": 700}, [1, 8, 65]]),
    "last_dim": st.sampled_from([{"max": 512}, {"min": 100}, [64, 128, 2880]]),
    "kv_len": st.sampled_from([{"max": 4096}, {"min": 40, "max": 2000}, [1536, 48]]),
    "head_dim": st.sampled_from([{"max": 128}, [32, 64], 128]),
    "num_q_heads": st.sampled_from([{"min": 2, "max": 24}, [8, 12]]),
    "top_k": st.sampled_from([{"max": 8}, [1, 4, 8]]),
    "block_size": st.sampled_from([128, {"max": 128}]),
}


@pytest.mark.parametrize("name", SLOTS)
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_every_case_keeps_to_slot_domain_and_budget(name: str, data: st.DataObject) -> None:
    contract = SLOTS[name]
    known = sorted(CONSTRAINED.keys() & contract.fields.keys())
    fields = data.draw(st.sets(st.sampled_from(known), max_size=3))
    domain = parse_domain({f: data.draw(CONSTRAINED[f], label=f) for f in fields}, "k.json")
    small = data.draw(st.booleans())
    seed = data.draw(st.integers(0, 2**48))
    budget = 64 << 20
    found = cases_for(contract, "v", domain, CONTEXT, seed=seed, small=small, work_budget=budget)
    keys = [(str(case.descriptor), str(case.scalars)) for case in found.cases]
    assert len(keys) == len(set(keys))
    for case in found.cases:
        base = {name: case.dims[name] for name in contract.catalogue[0].dims}
        assert valid(contract, base)
        assert case.dims == with_derived(contract, base)
        assert case.applicable == domain.admits(case.descriptor)
        if case.origin == "boundary":
            assert case.applicable
            assert work_of(case) <= budget


@pytest.mark.parametrize("name", SLOTS)
def test_base_dimensions_and_choices_build_a_case_again(name: str) -> None:
    contract = SLOTS[name]
    for case in cover(name).cases:
        base, choices = base_of(contract, case), choices_of(contract, case)
        again = build_case(contract, "v", base, choices, CONTEXT, Domain(), case.origin)
        assert again == case


@pytest.mark.parametrize("name", SLOTS)
def test_larger_doubles_the_counts(name: str) -> None:
    contract = SLOTS[name]
    case = max(cover(name).cases, key=work_of)
    bigger = larger(case, contract, Domain(), CONTEXT)
    assert bigger.origin == "larger"
    assert bigger.applicable
    for count in contract.counts:
        assert bigger.dims[count] == 2 * case.dims[count]


def test_larger_takes_the_room_that_there_is() -> None:
    contract = SLOTS[RMS]
    domain = parse_domain({"num_tokens": {"max": 8}}, "k.json")

    def grown(tokens: int, **options: Any) -> Any:
        case = build_case(contract, "v", {"T": tokens, "H": 64}, {}, CONTEXT, domain, "catalogue")
        return larger(case, contract, domain, CONTEXT, **options).dims["T"]

    assert [grown(n) for n in (1, 4, 5, 6, 7, 8)] == [2, 8, 7, 7, 8, 8]
    assert grown(4, limits={"num_tokens": (1, 6)}) == 6
    assert grown(4, work_budget=8 * 64 * 2) == 4


def test_larger_keeps_multiples_and_choices() -> None:
    contract = SLOTS["attention.msa_block_score"]
    domain = parse_domain({"kv_len": {"max": 1664}, "num_tokens": {"max": 4}}, "k.json")
    dims = {"B": 4, "Hq": 4, "D": 128, "S": 1536, "block": 128}
    case = build_case(contract, "v", dims, {}, CONTEXT, domain, "catalogue")
    assert larger(case, contract, domain, CONTEXT).dims["S"] == 1664
    sdpa = SLOTS["attention.sdpa"]
    loose = cover("attention.sdpa").cases[-1]
    assert larger(loose, sdpa, Domain(), CONTEXT).scalars["causal"] is False
