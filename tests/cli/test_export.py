"""Statements at the door: for PASS and FAIL, after looking once more, and for nothing else."""

import base64
import json
from pathlib import Path

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import PINNED, PUBLIC, SIGNERS
from tests.paper.evidence.deciding.world import digest_of
from tests.paper.evidence.laboratory import observed, seen_by, write_key

from cacheon.cli.main import run
from cacheon.evidence.envelope import pae
from cacheon.evidence.grade import Grade
from cacheon.evidence.keys import verify
from cacheon.evidence.observation import Observation
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode, encode

Captured = pytest.CaptureFixture[str]
EXPORT = ["--store", "evidence", "--key", "signer.key", "--output", "grade.intoto.jsonl"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("requirement.json").write_bytes(encode(PINNED))
    write_key(Path("signer.key"), 2)


def graded(capsys: Captured, rows: list[Observation] | None = None) -> str:
    words = ["--requirement", "requirement.json", "--store", "evidence", "--from", "observed"]
    assert run(["intake", observed(Path("observed"), rows), *words]) == 0
    capsys.readouterr()
    run(["grade", "requirement.json", "--store", "evidence", "--format", "json"])
    return str(json.loads(capsys.readouterr().out)["digest"])


def statements() -> list[dict[str, object]]:
    """What the exported file says, read as anybody would."""
    found = []
    for line in Path("grade.intoto.jsonl").read_bytes().splitlines():
        envelope = json.loads(line)
        payload = base64.b64decode(envelope["payload"])
        (signature,) = envelope["signatures"]
        message = pae(envelope["payloadType"], payload)
        assert verify(SIGNERS[2].public, message, base64.b64decode(signature["sig"]))
        found.append(json.loads(payload))
    return found


def test_a_pass_is_signed_twice(capsys: Captured) -> None:
    digest = graded(capsys)
    assert run(["export", digest[:10], *EXPORT]) == 0
    assert capsys.readouterr().out == (
        f"PASS of bundle {PINNED.bundle}\n"
        f"  signed by {PUBLIC[2]} for urn:cacheon:key:{PUBLIC[2]}\n"
        "wrote grade.intoto.jsonl\n"
    )
    grade, summary = statements()
    assert grade["predicateType"] == "urn:cacheon:grade:1"
    assert grade["predicate"]["digest"] == digest  # type: ignore[index]
    assert summary["subject"] == grade["subject"]
    assert summary["predicate"]["verificationResult"] == "PASSED"  # type: ignore[index]
    assert summary["predicate"]["timeVerified"].endswith("Z")  # type: ignore[index]
    # Nothing is ever overwritten.
    assert run(["export", digest, *EXPORT]) == 2


def test_a_failure_is_stated_too(capsys: Captured) -> None:
    first, *others = seen_by()
    rows = [msgspec.structs.replace(first, failure="capture", stage="capture"), *others]
    digest = graded(capsys, rows)
    words = [*EXPORT, "--verifier", "https://lab.example/v", "--format", "json"]
    assert run(["export", digest, *words]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "cacheon.export.v1",
        "grade": digest,
        "bundle": PINNED.bundle,
        "decision": "FAIL",
        "verifier": "https://lab.example/v",
        "key": PUBLIC[2],
    }
    _, summary = statements()
    assert summary["predicate"]["verificationResult"] == "FAILED"  # type: ignore[index]
    assert summary["predicate"]["verifier"] == {"id": "https://lab.example/v"}  # type: ignore[index]


def refused(words: list[str], code: int, line: str, capsys: Captured) -> None:
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert line in err
    assert not Path("grade.intoto.jsonl").exists()


def test_no_decision_is_not_stated(capsys: Captured) -> None:
    digest = graded(capsys, seen_by()[1:])
    refused(["export", digest, *EXPORT], 3, "NO_DECISION: there is nothing to export", capsys)


def test_what_the_evidence_does_not_bear_out_is_not_signed(capsys: Captured) -> None:
    digest = graded(capsys)
    with DirectoryStore.open(Path("evidence")) as store:
        made = decode(store.get(digest), Grade)
        forged = store.put(encode(msgspec.structs.replace(made, decision="FAIL")))
    line = "FAIL was published, and the evidence grades to PASS"
    refused(["export", forged, *EXPORT], 1, line, capsys)


def test_nor_is_what_nobody_can_recompute(capsys: Captured) -> None:
    digest = graded(capsys)
    row = digest_of(seen_by()[0])
    Path("evidence", "blobs", row[:2], row).unlink()
    refused(["export", digest, *EXPORT], 3, f"{row} is gone (missing)", capsys)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["0" * 64, *EXPORT], "expected a stored file, got none"),
        ([digest_of(PINNED), *EXPORT], "not-a-record: expected a Grade"),
        (["0" * 64, *EXPORT, "--key", "requirement.json"], "key-file"),
        (["0" * 64, *EXPORT, "--verifier", "me"], "--verifier: expected a URI, got 'me'"),
        (["0" * 64, *EXPORT, "--verifier", "a:\u202e"], "--verifier: expected a URI"),
    ],
)
def test_what_cannot_be_exported_is_one_line(words: list[str], line: str, capsys: Captured) -> None:
    graded(capsys)
    refused(["export", *words], 2, line, capsys)
