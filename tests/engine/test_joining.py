"""Two orders, walked side by side, make one row: no failure hides behind the other."""

import pytest

from cacheon.engine.joining import joined
from cacheon.engine.outcome import (
    CaseRow,
    Finding,
    OrderName,
    OrderResult,
    Status,
    VariantOutcome,
)


def part(order: OrderName, status: Status = "ok", rule: str = "", **more: object) -> VariantOutcome:
    findings = (Finding(rule=rule, stage="replay", message=rule, order=order),) if rule else ()
    row = CaseRow(
        label="num_tokens=1",
        descriptor={},
        origin="catalogue",
        applicable=status != "not_applicable",
        status=status,
        failure="replay" if rule else "none",
        stage="replay" if rule else None,
        findings=findings,
        orders=(OrderResult(order=order, replays_completed=8, replays_passed=8),),
        **more,  # type: ignore[arg-type]
    )
    return VariantOutcome(
        slot="norm.rmsnorm",
        variant="default",
        dtype="float32",
        backend="cuda",
        isolation="process",
        word="PASS",
        graph="verified",
        rows=(row,),
        seconds=1.0 if order == "descending" else 2.0,
    )


def test_one_part_is_the_outcome() -> None:
    whole = part("descending")
    assert joined([whole]) is whole


def test_both_orders_stand_in_the_row() -> None:
    outcome = joined([part("descending"), part("ascending")])
    assert [order.order for order in outcome.rows[0].orders] == ["descending", "ascending"]
    assert (outcome.word, outcome.graph, outcome.seconds) == ("PASS", "verified", 2.0)


@pytest.mark.parametrize("failing", ["descending", "ascending"])
@pytest.mark.parametrize("other", ["ok", "incomplete"])
def test_a_failure_in_either_order_fails_the_row(failing: OrderName, other: Status) -> None:
    parts = [
        part(order, "fail", "CG203") if order == failing else part(order, other)
        for order in ("descending", "ascending")
    ]
    outcome = joined(parts)
    row = outcome.rows[0]
    assert (row.status, row.failure, row.stage) == ("fail", "replay", "replay")
    assert outcome.word == "NUMERICAL_PASS"
    assert outcome.graph == "NOT_VERIFIED"


@pytest.mark.parametrize("lacking", ["descending", "ascending"])
def test_what_is_incomplete_in_one_order_is_incomplete(lacking: OrderName) -> None:
    parts = [
        part(order, "incomplete", infrastructure="no memory") if order == lacking else part(order)
        for order in ("descending", "ascending")
    ]
    outcome = joined(parts)
    assert outcome.word == "NO_DECISION"
    assert outcome.rows[0].infrastructure == "no memory"


def test_one_fault_is_said_once_and_two_are_both_said() -> None:
    twice = joined([part("descending", "fail", "CG203"), part("ascending", "fail", "CG203")])
    assert [f.rule for f in twice.rows[0].findings] == ["CG203"]
    both = joined([part("descending", "fail", "CG203"), part("ascending", "fail", "CG304")])
    assert [f.rule for f in both.rows[0].findings] == ["CG203", "CG304"]


def test_the_worst_answer_of_both_is_kept() -> None:
    outcome = joined(
        [
            part("descending", max_abs=(0.5).hex(), notes=("a",)),
            part("ascending", max_abs=(2.0).hex(), notes=("a", "b")),
        ]
    )
    assert float.fromhex(outcome.rows[0].max_abs) == 2.0
    assert outcome.rows[0].notes == ("a", "b")
    nan = joined([part("descending", max_abs="nan"), part("ascending", max_abs=(2.0).hex())])
    assert nan.rows[0].max_abs == "nan"


def test_what_failed_in_company_only_says_so_unless_it_fails_alone_too() -> None:
    outcome = joined(
        [
            part("descending", "fail", "CG304", company="company"),
            part("ascending", "fail", "CG304", company="alone"),
        ]
    )
    assert outcome.rows[0].company == "alone"
