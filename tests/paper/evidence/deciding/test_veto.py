"""The veto, rule by rule: what leads, and every reason beside it."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.paper.evidence.deciding.world import (
    CASES,
    DECLINED,
    FIRST,
    GROUP,
    KEYS,
    REDUCE,
    RUNS,
    SILU,
    WANTED,
    a_delivery,
    a_row,
    bound,
    required_case,
    required_variant,
    rows_of,
)

from cacheon.evidence import veto
from cacheon.evidence.binding import Committed, Delivered
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import Reason
from cacheon.evidence.observation import Observation
from cacheon.evidence.requirement import RequiredCase, Requirement
from cacheon.evidence.veto import Verdict, decide
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256

replace = msgspec.structs.replace
PASSED = Verdict("PASS", (Reason(code="every-case-shown"),))
SMALL, LARGE, RING = WANTED.variants


def graded(
    *delivered: Delivered, requirement: Requirement = WANTED, lost: Sequence[Committed] = ()
) -> Verdict:
    return decide(requirement, bound(*delivered, requirement=requirement, lost=lost))


def changed(case: RequiredCase, requirement: Requirement = WANTED, **by: Any) -> list[Observation]:
    """All rows, that of `case` changed."""
    return [replace(row, **by) if row.case == case.case else row for row in rows_of(requirement)]


def without(*gone: RequiredCase) -> list[Observation]:
    return [row for row in rows_of() if row.case not in [case.case for case in gone]]


def about(case: RequiredCase, code: str, detail: str = "", observer: str = KEYS[0]) -> Reason:
    slot, variant = case.descriptor.slot, case.descriptor.variant
    return Reason(
        code=code, slot=slot, variant=variant, case=case.case, observer=observer, detail=detail
    )


def second(rows: list[Observation]) -> Delivered:
    """The second observer's delivery of rows like these."""
    return a_delivery([replace(row, run=RUNS[1]) for row in rows], key=KEYS[1], run=RUNS[1])


# --- 3. PASS --------------------------------------------------------------------------------------


def test_whole_evidence_passes() -> None:
    assert graded(a_delivery(rows_of())) == PASSED
    assert graded(a_delivery(rows_of()), second(rows_of())) == PASSED


def test_as_many_observers_as_asked_pass() -> None:
    two = replace(WANTED, quorum=2)
    one = a_delivery(rows_of(two), two)
    other = a_delivery(rows_of(two, RUNS[1]), two, key=KEYS[1], run=RUNS[1])
    assert graded(one, other, requirement=two) == PASSED
    alone = graded(one, requirement=two)
    assert alone == Verdict("NO_DECISION", (Reason(code="quorum", detail="1 of 2"),))


# --- 1. FAIL --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "by", "code", "detail"),
    [
        (FIRST, {"applicable": False}, "applicability-differs", "required: applicable"),
        (
            DECLINED,
            {"applicable": True, "failure": "none"},
            "applicability-differs",
            "required: not applicable",
        ),
        (GROUP, {"failure": "eager"}, "failed-eager", "no finding says why"),
        (GROUP, {"failure": "capture"}, "failed-capture", "no finding says why"),
        (GROUP, {"failure": "replay"}, "failed-replay", "no finding says why"),
        (FIRST, {"compilers": ("nvcc",)}, "compilation-not-approved", "nvcc"),
    ],
)
def test_one_row_fails_the_whole(
    case: RequiredCase, by: dict[str, Any], code: str, detail: str
) -> None:
    got = graded(a_delivery(changed(case, **by)))
    assert got.decision == "FAIL"
    assert got.reasons[0] == about(case, code, detail)
    assert {reason.case for reason in got.reasons} <= {case.case, ""}


def test_a_failure_in_an_incomplete_row_leads() -> None:
    rows = changed(FIRST, failure="capture", complete=False, infrastructure="lost", ranks=())
    got = graded(a_delivery(rows))
    assert got.decision == "FAIL"
    assert [reason.code for reason in got.reasons] == ["failed-capture", "incomplete", "quorum"]


def test_a_failure_hides_behind_no_other_row() -> None:
    failing = changed(GROUP, failure="replay")
    got = graded(a_delivery(rows_of()), second(failing))
    assert got.decision == "FAIL"
    assert got.reasons == (
        about(GROUP, "failed-replay", "no finding says why", KEYS[1]),
        about(GROUP, "contradiction", "1 of 2 rows failed", ""),
    )


def test_two_that_agree_on_a_failure_contradict_nothing() -> None:
    failing = changed(GROUP, failure="replay")
    got = graded(a_delivery(failing), second(failing))
    assert [reason.code for reason in got.reasons] == ["failed-replay", "failed-replay"]
    assert [reason.observer for reason in got.reasons] == sorted(KEYS[:2])


def test_a_failure_beside_an_open_row_is_no_contradiction() -> None:
    failing = changed(GROUP, failure="replay")
    open_ = changed(GROUP, complete=False, infrastructure="lost")
    got = graded(a_delivery(failing), second(open_))
    assert got.decision == "FAIL"
    assert [reason.code for reason in got.reasons] == ["failed-replay", "incomplete"]


def test_two_rows_of_one_case_in_one_delivery_hide_nothing() -> None:
    got = graded(a_delivery([*rows_of(), replace(a_row(FIRST), failure="eager")]))
    assert got.decision == "FAIL"
    assert [reason.code for reason in got.reasons] == ["failed-eager", "contradiction"]


def uncovered(*cases: RequiredCase) -> Requirement:
    large = replace(LARGE, covered=False, missing=("num_tokens=8192", "a\u2028b"), cases=cases)
    return replace(WANTED, variants=(SMALL, large, RING))


def test_a_domain_that_is_not_covered_fails_with_no_evidence_at_all() -> None:
    requirement = uncovered(CASES[3])
    lead = Reason(
        code="domain-not-covered", slot=SILU, variant="large", detail="num_tokens=8192; a\\u2028b"
    )
    got = graded(requirement=requirement)
    assert got == Verdict("FAIL", (lead, Reason(code="no-evidence")))
    whole = a_delivery(rows_of(requirement), requirement)
    assert graded(whole, requirement=requirement) == Verdict("FAIL", (lead,))


def test_a_variant_that_does_not_apply_need_not_be_covered() -> None:
    requirement = uncovered(replace(CASES[3], applicable=False))
    whole = a_delivery(rows_of(requirement), requirement)
    assert graded(whole, requirement=requirement) == PASSED


def test_every_member_needs_an_applicable_case() -> None:
    for ring in (
        (replace(RING, cases=(replace(GROUP, applicable=False),)),),
        (replace(RING, cases=()),),
        (),
    ):
        requirement = replace(WANTED, variants=(SMALL, LARGE, *ring))
        got = graded(a_delivery(rows_of(requirement), requirement), requirement=requirement)
        assert got == Verdict("FAIL", (Reason(code="no-applicable-case", slot=REDUCE),))


def test_a_variant_of_no_member_serves_none() -> None:
    requirement = replace(WANTED, members=WANTED.members[1:])
    got = graded(a_delivery(rows_of(requirement), requirement), requirement=requirement)
    assert [reason.code for reason in got.reasons] == ["requirement-unsound"] * 2


# --- 2. NO_DECISION -------------------------------------------------------------------------------


def test_without_evidence_there_is_no_decision() -> None:
    nothing = Verdict("NO_DECISION", (Reason(code="no-evidence"),))
    assert graded() == graded(a_delivery([])) == nothing


def test_a_requirement_that_contradicts_itself_passes_nothing() -> None:
    requirement = replace(WANTED, quorum=0, observers=WANTED.observers[:1] * 2)
    got = graded(a_delivery(rows_of(requirement), requirement), requirement=requirement)
    assert got.decision == "NO_DECISION"
    assert got.reasons == (Reason(code="requirement-unsound", detail=f"observer {KEYS[0]} twice"),)


@pytest.mark.parametrize(
    ("rows", "code", "named"),
    [
        (without(GROUP), "member-missing", [(REDUCE, "", "")]),
        (without(*CASES[:4]), "member-missing", [(SILU, "", "")]),
        (without(CASES[3]), "variant-missing", [(SILU, "large", "")]),
        (without(FIRST), "case-missing", [(SILU, "small", FIRST.case)]),
        (
            without(CASES[1], DECLINED),
            "case-missing",
            [(SILU, "small", CASES[1].case), (SILU, "small", DECLINED.case)],
        ),
    ],
)
def test_what_is_missing_is_named_at_its_largest(
    rows: list[Observation], code: str, named: list[tuple[str, str, str]]
) -> None:
    got = graded(a_delivery(rows))
    missing = [
        Reason(code=code, slot=slot, variant=variant, case=case, observer=KEYS[0])
        for slot, variant, case in named
    ]
    assert got == Verdict("NO_DECISION", (*missing, Reason(code="quorum", detail="0 of 1")))


def test_a_variant_of_many_cases_is_missed_as_one() -> None:
    many = required_variant(SILU, "many", *(required_case(SILU, "many", n) for n in range(300)))
    requirement = replace(WANTED, variants=(SMALL, many, RING))
    rows = [row for row in rows_of(requirement) if row.descriptor.variant != "many"]
    got = graded(a_delivery(rows, requirement), requirement=requirement)
    assert got.reasons == (
        Reason(code="variant-missing", slot=SILU, variant="many", observer=KEYS[0]),
        Reason(code="quorum", detail="0 of 1"),
    )


def test_one_observer_s_rows_do_not_stand_for_another_s() -> None:
    # Together they have every case; neither has shown the whole.
    got = graded(a_delivery(without(FIRST)), second(without(GROUP)))
    assert got.decision == "NO_DECISION"
    assert [(reason.code, reason.observer) for reason in got.reasons] == [
        ("member-missing", KEYS[1]),
        ("case-missing", KEYS[0]),
        ("quorum", ""),
    ]
    # Nor may one leave out what the other has shown.
    assert graded(a_delivery(rows_of()), second(without(GROUP))).decision == "NO_DECISION"
    assert graded(a_delivery(rows_of()), second([])).decision == "NO_DECISION"


def test_what_a_delivery_lists_and_the_store_lacks_is_missing() -> None:
    lost = sha256(b"lost")
    unread = Reason(code="observation-missing", observer=KEYS[0], detail=lost)
    got = graded(a_delivery(rows_of(), lost=[lost]))
    assert got == Verdict("NO_DECISION", (unread, Reason(code="quorum", detail="0 of 1")))
    got = graded(a_delivery([], lost=[lost]))
    assert got == Verdict("NO_DECISION", (Reason(code="no-evidence"), unread))


def test_a_delivery_that_cannot_be_reopened_may_have_shown_a_failure() -> None:
    digest = sha256(b"lost")
    unread = Reason(code="delivery-missing", observer=KEYS[1], detail=digest)
    got = graded(a_delivery(rows_of()), lost=[Committed(KEYS[1], digest)])
    assert got == Verdict("NO_DECISION", (unread,))


@pytest.mark.parametrize(
    ("by", "code", "detail"),
    [
        ({"complete": False, "infrastructure": "disc full"}, "incomplete", "disc full"),
        ({"graph_required": False}, "graph-differs", "required: yes"),
        ({"ranks": ()}, "rank-missing", "rank 0"),
        ({"probes": ("perturb",)}, "probe-missing", "growth"),
    ],
)
def test_a_row_that_leaves_something_open_decides_nothing(
    by: dict[str, Any], code: str, detail: str
) -> None:
    got = graded(a_delivery(changed(FIRST, **by)))
    reasons = (about(FIRST, code, detail), Reason(code="quorum", detail="0 of 1"))
    assert got == Verdict("NO_DECISION", reasons)
    # However many others have seen all of it.
    beside = graded(a_delivery(changed(FIRST, **by)), second(rows_of()))
    assert beside == Verdict("NO_DECISION", reasons[:1])


def test_a_key_that_delivers_twice_passes_nothing_and_hides_nothing() -> None:
    one = a_delivery(rows_of())
    two = a_delivery(rows_of(run=RUNS[1]), run=RUNS[1])
    twice = Reason(code="delivered-twice", observer=KEYS[0])
    got = graded(one, two)
    assert got == Verdict("NO_DECISION", (twice, Reason(code="quorum", detail="0 of 1")))
    third = a_delivery(rows_of(run=RUNS[2]), key=KEYS[2], run=RUNS[2])
    assert graded(one, two, third) == Verdict("NO_DECISION", (twice,))
    failing = [replace(row, run=RUNS[1]) for row in changed(FIRST, failure="eager")]
    assert graded(one, a_delivery(failing, run=RUNS[1])).decision == "FAIL"


def test_one_delivery_in_two_envelopes_is_one() -> None:
    one = a_delivery(rows_of())
    again = decode(encode(one.delivery), Delivery)
    other = one._replace(digest=sha256(b"another envelope"), delivery=again)
    assert graded(one, other) == PASSED


def test_whoever_hands_in_another_s_run_has_seen_nothing() -> None:
    two = replace(WANTED, quorum=2)
    one = a_delivery(rows_of(two), two)
    copy = a_delivery(rows_of(two), two, key=KEYS[1])
    got = graded(one, copy, requirement=two)
    assert got == Verdict("NO_DECISION", (Reason(code="quorum", detail="1 of 2"),))
    assert graded(a_delivery(rows_of()), a_delivery(rows_of(), key=KEYS[1])) == PASSED


# --- order ----------------------------------------------------------------------------------------


def test_the_gravest_leads_then_the_requirement_s_order_then_the_observer_s() -> None:
    by_case: dict[str, dict[str, Any]] = {
        CASES[0].case: {"failure": "replay"},
        CASES[1].case: {"complete": False},
        CASES[3].case: {"failure": "replay"},
        CASES[4].case: {"applicable": False, "compilers": ("nvcc",)},
    }
    rows = [replace(row, **by_case.get(row.case, {})) for row in rows_of()]
    got = graded(second(rows), a_delivery(rows))
    assert got.decision == "FAIL"
    first, last = sorted(KEYS[:2])
    assert [(reason.code, reason.case, reason.observer) for reason in got.reasons] == [
        (code, CASES[number].case, key)
        for code, number in [
            ("applicability-differs", 4),
            ("failed-replay", 0),
            ("failed-replay", 3),
            ("compilation-not-approved", 4),
            ("incomplete", 1),
        ]
        for key in (first, last)
    ] + [("quorum", "", "")]


def test_there_are_no_more_reasons_than_a_grade_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = a_delivery(changed(FIRST, failure="eager", stage="load"))
    lost = [Committed(KEYS[1], sha256(b"%d" % number)) for number in range(26_000)]
    got = graded(failing, lost=lost)
    assert got.decision == "FAIL" and got.reasons[0].code == "failed-eager"
    size, last = len(encode(got.reasons)) - 1, len(encode(got.reasons[-1])) + 1
    assert 5 << 20 >= size > (5 << 20) - last
    some = graded(failing, lost=lost[:9])
    exact = len(encode(some.reasons)) - 1
    for room, count in ((exact, 0), (exact - 1, 1), (exact - last, 1), (exact - last - 1, 2)):
        monkeypatch.setattr(veto, "MOST_SAID", room)
        expected = some.reasons[: len(some.reasons) - count]
        assert graded(failing, lost=lost[:9]) == ("FAIL", expected)


def test_what_a_reason_takes_is_counted_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = a_delivery([replace(row, complete=False, infrastructure="lost") for row in rows_of()])
    every = graded(rows).reasons
    assert {len(encode(each)) % 2 for each in every} == {0, 1}
    for count in range(1, len(every)):
        exact = sum(len(encode(each)) + 1 for each in every[:count])
        for room, kept in ((exact, count), (exact - 1, count - 1)):
            monkeypatch.setattr(veto, "MOST_SAID", room)
            assert graded(rows).reasons == every[:kept]
