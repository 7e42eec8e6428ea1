"""An outcome is believed only where it answers what was asked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.host.bundles import request

from cacheon.engine.host.believing import disbelieved
from cacheon.engine.host.losses import undecided
from cacheon.engine.outcome import ORDERS, CaseRow, Finding, OrderResult, VariantOutcome
from cacheon.engine.request import RunSettings, VariantRequest

SETTINGS = RunSettings(device="cpu", seed=1)
WALKED = tuple(OrderResult(order=order) for order in ORDERS)
FINDING = Finding(rule="CG802", stage="eager", message="wrong")


def honest(asked: VariantRequest, **row: Any) -> VariantOutcome:
    rows = tuple(
        msgspec.structs.replace(
            CaseRow(
                label=case.label,
                descriptor=case.descriptor,
                origin=case.origin,
                applicable=case.applicable,
                status="ok",
                orders=WALKED,
            ),
            **row,
        )
        for case in asked.cases
    )
    return VariantOutcome(
        slot=asked.slot,
        variant=asked.variant,
        dtype=asked.dtype,
        backend="rehearsal",
        isolation="process",
        word="NUMERICAL_PASS",
        graph="NOT_VERIFIED",
        rehearsal="passed",
        entry=asked.candidate.entry,
        source=asked.candidate.source,
        rows=rows,
    )


def test_what_was_asked_for_is_believed(tmp_path: Path) -> None:
    asked = request(tmp_path / "a")
    assert disbelieved(honest(asked), asked, SETTINGS, ORDERS) == ""


@pytest.mark.parametrize(
    "change",
    [
        {"slot": "norm.rmsnorm"},
        {"variant": "another"},
        {"dtype": "bfloat16"},
        {"backend": "cuda"},
        {"isolation": "inline"},
        {"domain": "partial"},
        {"entry": "another"},
        {"source": "another.py"},
        {"rows": ()},
        {"word": "PASS"},
        {"word": "FAIL"},
        {"graph": "verified"},
        {"rehearsal": ""},
    ],
)
def test_another_outcome_is_not(tmp_path: Path, change: dict[str, Any]) -> None:
    asked = request(tmp_path / "a")
    assert disbelieved(msgspec.structs.replace(honest(asked), **change), asked, SETTINGS, ORDERS)


@pytest.mark.parametrize(
    "change",
    [
        {"label": "another"},
        {"descriptor": {}},
        {"origin": "boundary"},
        {"applicable": False},
        {"status": "not_applicable"},
        {"orders": WALKED[:1]},
        {"orders": (*WALKED, WALKED[0])},
        {"findings": (FINDING,)},
        {"status": "incomplete"},
        {"status": "fail", "failure": "eager"},
        {"status": "fail", "findings": (FINDING,)},
        {"status": "fail", "failure": "eager", "findings": (FINDING,)},
    ],
)
def test_nor_is_a_row_of_another_case(tmp_path: Path, change: dict[str, Any]) -> None:
    asked = request(tmp_path / "a")
    assert disbelieved(honest(asked, **change), asked, SETTINGS, ORDERS)


def test_an_order_that_was_not_asked_for_is_none(tmp_path: Path) -> None:
    asked = request(tmp_path / "a")
    assert disbelieved(honest(asked), asked, SETTINGS, ORDERS[:1])
    one = honest(asked, orders=WALKED[:1])
    assert disbelieved(one, asked, SETTINGS, ORDERS[:1]) == ""


def test_what_decides_nothing_says_why(tmp_path: Path) -> None:
    outcome = honest(request(tmp_path / "a"), status="incomplete", infrastructure="lost")
    assert undecided(outcome) == ""
    outcome = msgspec.structs.replace(outcome, word="NO_DECISION", rehearsal="")
    assert undecided(outcome) == "lost"
    assert undecided(msgspec.structs.replace(outcome, rehearsal="needs-cuda")) == ""
