"""Statements as in-toto and SLSA spell them."""

import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import DIGEST, PINNED, SIGNERS
from tests.paper.evidence.laboratory import a_grade

from cacheon.evidence.envelope import Pin, open_envelope
from cacheon.evidence.statements import (
    STATEMENT_TYPE,
    grade_statement,
    sign_statements,
    summary_statement,
)
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=1)))
PASSED = a_grade()
NAME = sha256(encode(PASSED))


def said(statement: object) -> dict[str, object]:
    body = json.loads(encode(statement))
    assert isinstance(body, dict)
    return body


def test_a_grade_is_stated_whole() -> None:
    assert said(grade_statement(PINNED, PASSED, NAME)) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "cacheon-bundle", "digest": {"sha256": PINNED.bundle}}],
        "predicateType": "urn:cacheon:grade:1",
        "predicate": {
            "digest": NAME,
            "target": "epilogue.v1",
            "grade": json.loads(encode(PASSED)),
        },
    }


def test_a_summary_has_the_fields_of_slsa() -> None:
    assert said(summary_statement(PINNED, PASSED, "https://lab.example", WHEN)) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "cacheon-bundle", "digest": {"sha256": PINNED.bundle}}],
        "predicateType": "https://slsa.dev/verification_summary/v1",
        "predicate": {
            "verifier": {"id": "https://lab.example"},
            "timeVerified": "2026-01-02T02:04:05Z",
            "resourceUri": f"urn:cacheon:bundle:{PINNED.bundle}",
            "policy": {
                "uri": "urn:cacheon:arena:h200:3",
                "digest": {"sha256": PINNED.policy.digest},
            },
            "inputAttestations": [
                {"uri": f"urn:cacheon:delivery:{each}", "digest": {"sha256": each}}
                for each in PASSED.deliveries
            ],
            "verificationResult": "PASSED",
            "verifiedLevels": ["CACHEON_GRAPH_REPLAY"],
        },
    }


@pytest.mark.parametrize(
    ("decision", "graphs", "result", "level"),
    [
        ("PASS", True, "PASSED", "CACHEON_GRAPH_REPLAY"),
        ("PASS", False, "PASSED", "CACHEON_EAGER"),
        ("FAIL", True, "FAILED", "FAILED"),
        ("FAIL", False, "FAILED", "FAILED"),
    ],
)
def test_what_a_summary_concludes(decision: str, graphs: bool, result: str, level: str) -> None:
    requirement = msgspec.structs.replace(PINNED, graph_required=graphs)
    summary = said(summary_statement(requirement, a_grade(decision=decision), "a:b", WHEN))
    predicate = summary["predicate"]
    assert isinstance(predicate, dict)
    assert predicate["verificationResult"] == result
    assert predicate["verifiedLevels"] == [level]
    assert not level.startswith("SLSA_")


def test_no_decision_has_no_summary() -> None:
    with pytest.raises(ValueError, match="no decision"):
        summary_statement(PINNED, a_grade(decision="NO_DECISION"), "a:b", datetime.now(UTC))


def test_each_statement_is_signed_on_a_line_of_its_own() -> None:
    statements = (
        grade_statement(PINNED, PASSED, NAME),
        summary_statement(PINNED, PASSED, "a:b", WHEN),
    )
    lines = sign_statements(statements, SIGNERS[0]).splitlines(keepends=True)
    assert len(lines) == 2
    for line, statement in zip(lines, statements, strict=True):
        assert line.endswith(b"}\n")
        pin = Pin(key=SIGNERS[0].public, role="any")
        opened = open_envelope(line[:-1], STATEMENT_TYPE, [pin], role="any")
        assert opened.payload == encode(statement)
    assert STATEMENT_TYPE == "application/vnd.in-toto+json"
    assert PASSED.requirement == DIGEST
