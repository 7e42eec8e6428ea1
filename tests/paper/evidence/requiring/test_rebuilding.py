"""A required case can be built again from what the requirement says of it, and nothing else
passes for it."""

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.paper.evidence.requiring.world import (
    DECODE,
    RMS,
    SDPA,
    SILU,
    a_variant,
    an_arena,
    required,
)

from cacheon.contract.building import base_of, build_case, valid, work_of
from cacheon.contract.slots import SLOTS
from cacheon.evidence.case import case_digest, describe_case
from cacheon.evidence.requirement import RequiredCase
from cacheon.evidence.requiring import context_of, rebuild, rebuild_larger
from cacheon.records.errors import InputError

predicates = st.one_of(
    st.fixed_dictionaries({}, optional={"min": st.integers(0, 40), "max": st.integers(0, 5000)}),
    st.lists(st.integers(1, 300), min_size=1, max_size=3),
    st.integers(1, 128),
).filter(lambda p: p != {})
nonces = st.binary(min_size=32, max_size=32).map(bytes.hex)


@pytest.mark.parametrize("name", [name for name in SLOTS if not name.startswith("collective.")])
@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_case_is_built_again_and_none_stands_there_twice(
    name: str, data: st.DataObject
) -> None:
    slot = SLOTS[name]
    fields = data.draw(st.sets(st.sampled_from(sorted(slot.fields)), max_size=2))
    capabilities = {field: data.draw(predicates, label=field) for field in sorted(fields)}
    row = a_variant(name, capabilities, graph_safe=data.draw(st.sampled_from([True, None])))
    arena = an_arena(targets=tuple(SLOTS))
    found = required(row, arena=arena, nonce=data.draw(nonces))
    (variant,) = found.variants
    calls = [(str(case.descriptor.call), str(case.descriptor.scalars)) for case in variant.cases]
    assert len(set(calls)) == len(calls) == len({case.case for case in variant.cases})
    for required_case in variant.cases:
        case = rebuild(required_case, row, found)
        assert case_digest(describe_case(case)) == required_case.case
        assert case_digest(required_case.descriptor) == required_case.case
        assert case.applicable == required_case.applicable
        assert base_of(slot, case) == required_case.dims
        assert (case.origin, work_of(case)) == (required_case.origin, required_case.work)
    larger = rebuild_larger(variant, row, found)
    assert (larger is not None) == any(case.applicable for case in variant.cases)
    if larger is not None:
        assert larger.origin == "larger"
        assert larger.applicable


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_covered_where_every_end_and_value_that_a_call_can_have_is_hit(data: st.DataObject) -> None:
    """By brute force over a box: within the arena's limits, what is declared is hit, where
    the budget has room; and where the requirement says that something is missing, it is."""
    numbers = st.integers(1, 12)
    predicate = st.one_of(
        st.tuples(numbers, numbers).map(lambda ends: {"min": min(ends), "max": max(ends)}),
        st.lists(numbers, min_size=1, max_size=3, unique=True),
        st.just({"min": 1}),
    )
    capabilities = {f: data.draw(predicate, label=f) for f in ("num_q_heads", "num_kv_heads")}
    highest = data.draw(st.integers(6, 12))
    budget = data.draw(st.sampled_from([2 << 20, 1 << 30]))
    limits = {"num_q_heads": (1, highest), "num_kv_heads": (1, highest)}
    row = a_variant(DECODE, capabilities)
    found = required(row, arena=an_arena(limits=limits, work_budget=budget))
    (variant,) = found.variants

    least = {"B": 1, "D": 64, "S": 1}
    calls = []
    for q_heads, kv_heads in itertools.product(range(1, highest + 1), repeat=2):
        dims = {**least, "Hq": q_heads, "Hkv": kv_heads}
        if valid(SLOTS[DECODE], dims):
            case = build_case(
                SLOTS[DECODE], "v", dims, {}, context_of(found), row.domain, "boundary"
            )
            if case.applicable:
                calls.append(case)
    assert all(work_of(case) <= budget for case in calls)
    hits = [case.descriptor.call for case in variant.cases if case.applicable]
    wanted = []
    for field, said in capabilities.items():
        can = {int(case.descriptor[field]) for case in calls}
        values = (
            can & set(said) if isinstance(said, list) else {*sorted(can)[:1], *sorted(can)[-1:]}
        )
        wanted += [(field, value) for value in values]
    hit = all(any(call[field] == value for call in hits) for field, value in wanted)
    beyond = [case for case in variant.cases if case.applicable and case.work > budget]
    assert variant.covered == (hit and not beyond)


# --- what does not fit ---------------------------------------------------------------------


def a_case(**changes: Any) -> RequiredCase:
    case = required(a_variant(SILU)).variants[0].cases[0]
    return msgspec.structs.replace(case, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"dims": {"T": 1}},
        {"dims": {"T": 1, "d": 1024, "x": 1}},
        {"dims": {"T": 0, "d": 1024}},
        {"dims": {"T": -3, "d": 1024}},
        {"dims": {"T": 7777, "d": 1024}},
        {"choices": {"causal": True}},
        {"case": "00" * 32},
    ],
)
def test_another_call_is_never_built(changes: dict[str, Any]) -> None:
    found = required(a_variant(SILU))
    with pytest.raises(InputError, match="expected the required call, built again"):
        rebuild(a_case(**changes), a_variant(SILU), found)


def test_another_row_or_context_gives_another_call() -> None:
    found = required(a_variant(SILU))
    for row in (a_variant(RMS), a_variant(SILU, name="other")):
        with pytest.raises(InputError):
            rebuild(a_case(), row, found)
    for context in ({**found.context, "dtype": "float16"}, {**found.context, "quant": "fp8"}):
        other = msgspec.structs.replace(found, context=context)
        with pytest.raises(InputError, match="built again"):
            rebuild(a_case(), a_variant(SILU), other)


@pytest.mark.parametrize("context", [{}, {"colour": 1}, {"dtype": 3}])
def test_a_context_that_is_none_is_refused(context: dict[str, str | int]) -> None:
    found = msgspec.structs.replace(required(a_variant(SILU)), context=context)
    with pytest.raises(InputError, match="requirement, context: expected the fields"):
        context_of(found)


def test_given_fields_come_back() -> None:
    given_context = msgspec.structs.replace(
        an_arena().arena.context, given={"model": "m", "page_size": 64}
    )
    found = required(a_variant(SILU, {"model": "m"}), arena=an_arena(context=given_context))
    assert context_of(found) == given_context
    assert all(case.applicable for case in found.variants[0].cases)


def test_applicability_is_the_observers_own_finding() -> None:
    """A requirement that says otherwise than the manifest is not believed."""
    found = required(a_variant(SILU))
    case = found.variants[0].cases[0]
    assert rebuild(case, a_variant(SILU), found).applicable
    assert not rebuild(case, a_variant(SILU, graph_safe=None), found).applicable
    assert not rebuild(case, a_variant(SILU, {"num_tokens": {"min": 5000}}), found).applicable


def test_the_larger_call_makes_the_same_choice_as_the_largest_case() -> None:
    row = a_variant(SDPA)
    found = required(row)
    (variant,) = found.variants
    only = [case for case in variant.cases if case.choices == {"causal": False}]
    loose = msgspec.structs.replace(variant, cases=tuple(only))
    larger = rebuild_larger(loose, row, found)
    assert larger is not None
    assert larger.scalars["causal"] is False


def test_larger_dimensions_that_are_no_call_are_refused() -> None:
    found = required(a_variant(SILU))
    (variant,) = found.variants
    broken = msgspec.structs.replace(variant, larger={"T": 0, "d": 1})
    with pytest.raises(InputError, match="larger: expected the dimensions of a call"):
        rebuild_larger(broken, a_variant(SILU), found)
    assert (
        rebuild_larger(msgspec.structs.replace(variant, larger={}), a_variant(SILU), found) is None
    )
