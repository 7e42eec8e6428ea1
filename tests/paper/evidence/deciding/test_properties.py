"""What holds of the veto whatever the evidence is: the properties that the design asks for.

Rows are drawn from a small set of good and spoiled ones, deliveries from rows, and a second,
slower reading of the rules stands beside the veto's own."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paper.evidence.deciding.world import (
    CASES,
    KEYS,
    RUNS,
    WANTED,
    a_delivery,
    a_rank,
    a_row,
    bound,
    digest_of,
)

from cacheon.evidence.binding import Committed, Delivered
from cacheon.evidence.observation import Observation
from cacheon.evidence.reasons import REASONS
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.rows import asked_of, failures, gaps
from cacheon.evidence.veto import Verdict, decide
from cacheon.records.digest import sha256

replace = msgspec.structs.replace
SPOILED: tuple[dict[str, Any], ...] = (
    {},
    {"failure": "eager"},
    {"failure": "replay", "complete": False, "infrastructure": "lost"},
    {"applicable": False},
    {"applicable": True},
    {"failure": "not_applicable"},
    {"complete": False},
    {"ranks": ()},
    {"ranks": (a_rank(0, 7),)},
    {"stage": "soak"},
    {"nodes": {"host": 1}},
    {"compilers": ("nvcc",)},
    {"probes": ()},
    {"graph_required": False},
)
UNBOUND: tuple[dict[str, Any], ...] = (
    {"nonce": sha256(b"other")},
    {"requirement": sha256(b"other")},
    {"run": sha256(b"other")},
    {"launch": sha256(b"other")},
    {"bundle": sha256(b"other")},
    {"case": sha256(b"other")},
    {"backend": "rehearsal"},
    {"isolation": "inline"},
)
spoilt = st.builds(
    lambda case, by, seen: replace(a_row(case), max_abs=float(seen).hex(), **by),
    st.sampled_from(CASES),
    st.sampled_from(SPOILED),
    st.integers(0, 2),
)
unbound = st.builds(lambda row, by: replace(row, **by), spoilt, st.sampled_from(UNBOUND))
whole = st.just([a_row(case) for case in CASES])
row_lists = whole | st.builds(
    lambda good, bad, missing: [
        row for number, row in enumerate([*good, *bad]) if number not in missing
    ],
    whole | whole | st.just([]),
    st.lists(spoilt, max_size=3),
    st.sets(st.integers(0, len(CASES)), max_size=1),
)


def as_delivered(rows: Sequence[Observation], key: int, lost: Sequence[str] = ()) -> Delivered:
    """The rows as one of the observers delivers them: an unbound run stays another's."""
    made = [replace(row, run=RUNS[key]) if row.run == RUNS[0] else row for row in rows]
    return a_delivery(made, key=KEYS[key], run=RUNS[key], lost=lost)


deliveries = st.lists(
    st.builds(
        as_delivered,
        row_lists,
        st.integers(0, 2),
        st.sampled_from([(), (), (), (sha256(b"gone"),)]),
    ),
    max_size=3,
    unique_by=lambda delivered: delivered.digest,
)
requirements = st.builds(
    lambda quorum, covered: replace(
        WANTED,
        quorum=quorum,
        variants=(
            replace(WANTED.variants[0], covered=covered, missing=() if covered else ("x",)),
            *WANTED.variants[1:],
        ),
    ),
    st.integers(1, 2),
    st.booleans(),
)


def rebound(requirement: Requirement, given_: Sequence[Delivered]) -> list[Delivered]:
    """The same evidence, made for another requirement."""
    digest = digest_of(requirement)
    made = []
    for delivered in given_:
        delivery = replace(delivered.delivery, requirement=digest)
        rows = [
            row._replace(observation=replace(row.observation, requirement=digest))
            if row.observation.requirement == digest_of(WANTED)
            else row
            for row in delivered.rows
        ]
        made.append(delivered._replace(delivery=delivery, rows=tuple(rows)))
    return made


def graded(
    given_: Sequence[Delivered],
    requirement: Requirement = WANTED,
    lost: Sequence[Committed] = (),
) -> Verdict:
    return decide(requirement, bound(*given_, requirement=requirement, lost=lost))


def taken_away(delivered: Delivered, number: int) -> Delivered:
    """The same delivery, one observation of which the store has lost."""
    gone = delivered.rows[number % len(delivered.rows)]
    return delivered._replace(
        rows=tuple(row for row in delivered.rows if row != gone),
        missing=(*delivered.missing, gone.digest),
    )


def with_row(delivered: Delivered, row: Observation) -> Delivered:
    """The same observer's delivery, listing one row more."""
    key = KEYS.index(delivered.delivery.observer)
    rows = [each.observation for each in delivered.rows]
    return as_delivered([*rows, replace(row, run=RUNS[key])], key, delivered.missing)


@given(deliveries, st.data())
def test_taking_away_a_listed_observation_never_makes_a_pass(
    given_: list[Delivered], data: st.DataObject
) -> None:
    full = [number for number, each in enumerate(given_) if each.rows]
    if not full:
        return
    which = data.draw(st.sampled_from(full))
    fewer = list(given_)
    fewer[which] = taken_away(given_[which], data.draw(st.integers(0, 9)))
    assert graded(fewer).decision != "PASS"


@given(deliveries, st.data())
def test_losing_a_committed_delivery_never_makes_a_pass(
    given_: list[Delivered], data: st.DataObject
) -> None:
    if not given_:
        return
    gone = data.draw(st.sampled_from(given_))
    fewer = [each for each in given_ if each is not gone]
    lost = [Committed(gone.delivery.observer, gone.digest)]
    assert graded(fewer, lost=lost).decision != "PASS"


@given(deliveries, spoilt, st.data())
def test_adding_an_observation_never_unmakes_a_fail(
    given_: list[Delivered], row: Observation, data: st.DataObject
) -> None:
    if not given_ or graded(given_).decision != "FAIL":
        return
    which = data.draw(st.integers(0, len(given_) - 1))
    more = list(given_)
    more[which] = with_row(given_[which], row)
    assert graded(more).decision == "FAIL"


@given(deliveries, deliveries)
def test_adding_a_delivery_never_unmakes_a_fail(
    given_: list[Delivered], more: list[Delivered]
) -> None:
    if graded(given_).decision == "FAIL":
        assert graded([*given_, *more]).decision == "FAIL"


@given(deliveries, st.lists(unbound, max_size=4), row_lists)
def test_what_is_not_bound_changes_nothing(
    given_: list[Delivered], strange: list[Observation], rows: list[Observation]
) -> None:
    # Rows that are not bound, among those of every delivery; and a key that is not pinned.
    beside = []
    for delivered in given_:
        key = KEYS.index(delivered.delivery.observer)
        offered = as_delivered(strange, key)
        beside.append(delivered._replace(rows=(*delivered.rows, *offered.rows)))
    unpinned = as_delivered(rows, 3)
    assert graded([*beside, unpinned]) == graded(given_)


@given(deliveries, st.data())
def test_order_changes_nothing(given_: list[Delivered], data: st.DataObject) -> None:
    turned = [
        each._replace(rows=tuple(data.draw(st.permutations(each.rows))))
        for each in data.draw(st.permutations(given_))
    ]
    assert bound(*turned) == bound(*given_)
    assert graded(turned) == graded(given_)


@given(deliveries, requirements)
@settings(max_examples=300)
def test_the_decision_is_that_of_the_plain_reading(
    given_: list[Delivered], requirement: Requirement
) -> None:
    made = rebound(requirement, given_)
    got = graded(made, requirement)
    assert got.decision == plain_reading(requirement, made)
    leads = [REASONS[reason.code].leads for reason in got.reasons]
    assert leads[0] == got.decision
    order = ["FAIL", "NO_DECISION", "PASS"]
    assert leads == sorted(leads, key=order.index)
    assert ("PASS" in leads) == (got.decision == "PASS") and got.reasons


def plain_reading(requirement: Requirement, given_: Sequence[Delivered]) -> str:
    """The three rules, read off the page without a thought for speed or reasons."""
    asked = asked_of(requirement)
    by_key: dict[str, list[Delivered]] = {}
    for delivered in bound(*given_, requirement=requirement).deliveries:
        by_key.setdefault(delivered.delivery.observer, []).append(delivered)
    every = [delivered for group in by_key.values() for delivered in group]
    seen = [
        (case, row.observation)
        for delivered in every
        for row in delivered.rows
        for case in CASES
        if case.case == row.observation.case
    ]
    if any(failures(case, row, asked) for case, row in seen):
        return "FAIL"
    if not all(variant.covered for variant in requirement.variants):
        return "FAIL"
    if any(gaps(case, row, asked) for case, row in seen):
        return "NO_DECISION"
    if any(len({each.digest for each in group}) > 1 for group in by_key.values()):
        return "NO_DECISION"
    for delivered in every:
        shown = {row.observation.case for row in delivered.rows}
        if delivered.missing or shown != {case.case for case in CASES}:
            return "NO_DECISION"
    return "PASS" if len(by_key) >= requirement.quorum else "NO_DECISION"
