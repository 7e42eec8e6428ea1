"""Domains: spellings, predicates, the missing-field rule, and disjointness held against
brute force."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheon.contract.descriptor import NUMBER_FIELDS, TEXT_FIELDS
from cacheon.contract.domain import (
    LONGEST_VALUE,
    MOST_VALUES,
    Constraint,
    disjoint,
    overlap,
    parse_domain,
)
from cacheon.records.errors import InputError, LimitExceeded


def parse(**capabilities: Any) -> Any:
    return parse_domain(capabilities, "k.json")


@pytest.mark.parametrize(
    ("predicate", "inside", "outside"),
    [
        (8, [8], [7, 9]),
        ([8, 16], [8, 16], [9]),
        ({"exact": 8}, [8], [9]),
        ({"one_of": [8, 16]}, [8, 16], [0]),
        ({"min": 8}, [8, 10**9], [7]),
        ({"max": 8}, [0, 8], [9]),
        ({"min": 2, "max": 8}, [2, 8], [1, 9]),
        ({"min": 1.5, "max": 8.5}, [2, 8], [1, 9]),
        ({"one_of": [1, 5, 9], "min": 2, "max": 8}, [5], [1, 9]),
        ({"exact": 5, "one_of": [5, 6]}, [5], [6]),
        ({"min": -3}, [0], []),
        (8.0, [8], [7]),
    ],
)
def test_every_form_of_a_number_predicate(
    predicate: Any, inside: list[int], outside: list[int]
) -> None:
    domain = parse(num_tokens=predicate)
    assert all(domain.admits({"num_tokens": value}) for value in inside)
    assert not any(domain.admits({"num_tokens": value}) for value in outside)
    assert not domain.is_empty


@pytest.mark.parametrize(
    ("written", "field", "value"),
    [
        ({"dtype": "bf16"}, "dtype", "bfloat16"),
        ({"dtype": "BFloat16"}, "dtype", "bfloat16"),
        ({"architecture": "SM_90"}, "architecture", "sm90"),
        ({"arch": "sm_90a"}, "architecture", "sm90a"),
        ({"arch": "gfx942"}, "architecture", "gfx942"),
        ({"phase": "extend"}, "phase", "prefill"),
        ({"graph_mode": "capture"}, "graph_mode", "cuda_graph"),
        ({"graph_mode": "graph"}, "graph_mode", "cuda_graph"),
        ({"graph_mode": "on"}, "graph_mode", "cuda_graph"),
        ({"graph_mode": "replay"}, "graph_mode", "cuda_graph"),
        ({"graph_mode": "off"}, "graph_mode", "eager"),
        ({"model": "M3-Big"}, "model", "M3-Big"),
        ({"quant": ["fp8", "none"]}, "quant", "none"),
    ],
)
def test_accepted_spellings(written: dict[str, Any], field: str, value: str) -> None:
    assert parse_domain(written, "k.json").admits({field: value})


def test_a_field_that_the_descriptor_lacks_is_a_mismatch() -> None:
    domain = parse(batch_size={"min": 0})
    assert not domain.admits({"num_tokens": 4})
    assert domain.mismatch({"num_tokens": 4}) == "batch_size is not a fact of this call"


def test_a_mismatch_says_field_and_reason() -> None:
    assert parse(top_k=[1, 2]).mismatch({"top_k": 3}) == "top_k=3 is not 1 or 2"
    assert parse(top_k={"min": 4}).mismatch({"top_k": 3}) == "top_k=3 is not at least 4"
    assert parse(top_k={"max": 2}).mismatch({"top_k": 3}) == "top_k=3 is not 0 to 2"
    assert parse(top_k=[]).mismatch({"top_k": 3}) == "top_k=3 is not nothing"
    assert parse(top_k={"max": 2}).mismatch({"top_k": "2"}) == "top_k=2 is not 0 to 2"
    assert parse(top_k={"max": 2}).mismatch({"top_k": 2}) == ""


@pytest.mark.parametrize(
    "predicate",
    [[], {"min": 3, "max": 2}, {"max": -1}, {"one_of": []}, 0.5, -1, {"exact": 3, "min": 4}],
)
def test_domains_that_nothing_satisfies(predicate: Any) -> None:
    domain = parse(num_tokens=predicate)
    assert domain.empty_field == "num_tokens"
    assert domain.is_empty


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ({"tokens": 3}, "capabilities.tokens: expected a descriptor field such as num_tokens"),
        ({"zzz": 3}, "capabilities.zzz: expected a descriptor field, got an unknown name"),
        ({"arch": "sm90", "architecture": "sm90"}, "expected architecture once, got two"),
        ({"num_tokens": True}, "expected a number, got a boolean"),
        ({"num_tokens": [1, False]}, "expected a number, got a boolean"),
        ({"num_tokens": {"min": True}}, "capabilities.num_tokens.min: expected a number"),
        ({"num_tokens": "4"}, "expected a number, got text"),
        ({"num_tokens": None}, "expected a number, got null"),
        ({"num_tokens": {"exact": [4]}}, "expected a number, got a list"),
        ({"num_tokens": {"exact": {}}}, "expected a number, got an object"),
        ({"num_tokens": {}}, "expected exact, one_of, min or max, got an empty object"),
        ({"num_tokens": {"least": 3}}, "expected exact, one_of, min or max, got least"),
        ({"num_tokens": {"one_of": 3}}, "one_of: expected a list, got a number"),
        ({"dtype": 16}, "expected text, got a number"),
        ({"dtype": 1.5}, "expected text, got a number"),
        ({"dtype": {"min": 1}}, "expected exact or one_of: the field is text, got a range"),
        ({"model": "a\nb"}, "expected printable text"),
        ({"model": "a" * (LONGEST_VALUE + 1)}, "expected printable text"),
    ],
)
def test_what_is_no_predicate_is_refused_in_one_line(written: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_domain(written, "k.json")
    assert line in str(caught.value)
    assert str(caught.value).startswith("k.json: capabilities.")


@pytest.mark.parametrize(
    "predicate",
    [10**400, 1e300, float("inf"), float("nan"), 2**53 + 1, list(range(MOST_VALUES + 1))],
)
def test_numbers_and_lists_have_limits(predicate: Any) -> None:
    with pytest.raises(LimitExceeded):
        parse(num_tokens=predicate)


numbers = st.integers(0, 6)
predicates = st.one_of(
    numbers,
    st.lists(numbers, min_size=1, max_size=3),
    st.fixed_dictionaries({"min": numbers}),
    st.fixed_dictionaries({"max": numbers}),
    st.fixed_dictionaries({"min": numbers, "max": numbers}),
    st.fixed_dictionaries({"one_of": st.lists(numbers, max_size=3), "max": numbers}),
)
texts = st.one_of(
    st.sampled_from(["bf16", "float16"]), st.lists(st.sampled_from(["bf16", "float32"]))
)
capabilities = st.fixed_dictionaries(
    {}, optional={"num_tokens": predicates, "top_k": predicates, "dtype": texts}
)
CALLS = [
    {"num_tokens": tokens, "top_k": top_k, "dtype": dtype}
    for tokens in range(9)
    for top_k in range(9)
    for dtype in ("bfloat16", "float16", "float32")
]


@given(capabilities, capabilities)
def test_disjointness_is_that_of_the_calls(one: dict[str, Any], other: dict[str, Any]) -> None:
    a, b = parse_domain(one, "a"), parse_domain(other, "b")
    shared = [call for call in CALLS if a.admits(call) and b.admits(call)]
    assert disjoint(a, b) == (not shared)
    assert disjoint(b, a) == disjoint(a, b)
    assert [call for call in CALLS if a.intersect(b).admits(call)] == shared
    assert a.is_empty == (not any(a.admits(call) for call in CALLS))


@given(st.lists(capabilities, max_size=4))
def test_the_first_two_that_overlap_are_named(several: list[dict[str, Any]]) -> None:
    domains = [parse_domain(each, "a") for each in several]
    pairs = [
        (one, other)
        for one, other in itertools.combinations(range(len(domains)), 2)
        if not domains[one].intersect(domains[other]).is_empty
    ]
    assert overlap(domains) == (pairs[0] if pairs else None)


@given(st.lists(st.integers(-2, 9) | st.sampled_from([1.0, 2.5, 3.0])))
def test_a_list_admits_what_it_lists(values: list[int | float]) -> None:
    domain = parse(num_tokens=values)
    assert [n for n in range(9) if domain.admits({"num_tokens": n})] == sorted(
        {n for n in values if n in range(9)}
    )


def test_ranges_that_share_an_end_overlap() -> None:
    assert not disjoint(parse(num_tokens={"max": 8}), parse(num_tokens={"min": 8}))
    assert disjoint(parse(num_tokens={"max": 7}), parse(num_tokens={"min": 8}))


def test_a_domain_can_be_restricted_further() -> None:
    narrow = parse(top_k={"min": 2}).restrict("top_k", Constraint(high=4))
    assert [n for n in range(9) if narrow.admits({"top_k": n})] == [2, 3, 4]


def test_a_field_of_only_one_proves_nothing() -> None:
    assert not disjoint(parse(num_tokens={"max": 8}), parse(kv_len={"min": 9}))


def test_the_fields_are_those_of_the_format() -> None:
    assert len(TEXT_FIELDS) == 8
    assert len(NUMBER_FIELDS) == 19
