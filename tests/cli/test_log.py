"""The log at the door: append, checkpoint, verify."""

import json
from pathlib import Path

import pytest
from tests.paper.evidence.deciding.stored import PINNED, PUBLIC
from tests.paper.evidence.deciding.world import digest_of
from tests.paper.evidence.laboratory import observed, seen_by, write_key

from cacheon.cli.main import run
from cacheon.evidence.checkpoint import CHECKPOINT_TYPE, ROLE
from cacheon.evidence.envelope import Pin, open_envelope
from cacheon.evidence.pointers import REQUIREMENTS, named
from cacheon.evidence.store import DirectoryStore

Captured = pytest.CaptureFixture[str]
REQUIREMENT = digest_of(PINNED)
APPEND = ["log", "append", "log", "--store", "evidence"]
CHECKPOINT = ["log", "checkpoint", "log", "--origin", "lab.example", "--key", "log.key"]
VERIFY = ["log", "verify", "log", "--log-key", f"lab.example={PUBLIC[1]}"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    observed(Path("evidence"))
    with DirectoryStore.open(Path("evidence")) as store:
        store.link(REQUIREMENTS, named(REQUIREMENT), REQUIREMENT)
    write_key(Path("log.key"), 1)


def test_what_was_published_is_listed_once(capsys: Captured) -> None:
    assert run(APPEND) == 0
    assert capsys.readouterr().out == f"0  requirement  {REQUIREMENT}\n1 new entries\n"
    assert run([*APPEND, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "cacheon.log.entries.v1",
        "entries": [],
    }
    assert run([*APPEND, REQUIREMENT]) == 0
    assert capsys.readouterr().out == "0 new entries\n"


def test_a_checkpoint_is_signed_and_written_for_others(capsys: Captured) -> None:
    assert run(APPEND) == 0
    assert run([*CHECKPOINT, "--output", "kept.json"]) == 0
    out = capsys.readouterr().out
    assert "lab.example  1 entries  root " in out
    assert out.endswith("wrote kept.json\n")
    pin = Pin(key=f"ed25519:{PUBLIC[1]}", role=ROLE)
    data = Path("kept.json").read_bytes()
    said = json.loads(open_envelope(data, CHECKPOINT_TYPE, [pin], role=ROLE).payload)
    assert (said["origin"], said["size"]) == ("lab.example", 1)
    # The same again is the same checkpoint.
    assert run([*CHECKPOINT, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["checkpoint"] == said
    assert len(Path("log/checkpoints").read_bytes().splitlines()) == 1
    # Nothing is ever overwritten.
    assert run([*CHECKPOINT, "--output", "kept.json"]) == 2
    assert "expected a new file" in capsys.readouterr().err


def test_a_log_that_fits(capsys: Captured) -> None:
    assert run(APPEND) == 0
    assert run([*CHECKPOINT, "--output", "kept.json"]) == 0
    capsys.readouterr()
    assert run(VERIFY) == 0
    assert capsys.readouterr().out == "log lab.example\n  fits its last checkpoint of 1 entries\n"
    assert run([*VERIFY, "--since", "kept.json", "--store", "evidence"]) == 0
    assert "begins with the 1 entries" in capsys.readouterr().out
    assert run([*VERIFY, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "cacheon.log.v1",
        "origin": "lab.example",
        "contradiction": "",
        "size": 1,
        "entries": 1,
        "since": -1,
        "absent": [],
    }


def test_deleted_evidence_is_exit_1(capsys: Captured) -> None:
    assert run(APPEND) == 0
    assert run(CHECKPOINT) == 0
    Path("evidence", "blobs", REQUIREMENT[:2], REQUIREMENT).unlink()
    assert run([*VERIFY, "--store", "evidence"]) == 1
    assert f"  deleted: requirement {REQUIREMENT}\n" in capsys.readouterr().out
    # What is not there is not listed either.
    assert run(APPEND) == 2


def test_a_changed_history_is_exit_1_and_is_not_signed(capsys: Captured) -> None:
    assert run(APPEND) == 0
    assert run(CHECKPOINT) == 0
    entries = Path("log/entries")
    entries.write_bytes(entries.read_bytes().replace(REQUIREMENT.encode(), b"0" * 64))
    capsys.readouterr()
    assert run(VERIFY) == 1
    assert "contradicts what it signed  log: log-forked: " in capsys.readouterr().out
    assert run(CHECKPOINT) == 2
    assert "log-forked" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([*APPEND, "0" * 64], f"{'0' * 64}: expected a stored file, got none"),
        ([*APPEND, digest_of(seen_by()[0])], "expected requirement or grade, got observation"),
        ([*APPEND, "../x"], "not-a-digest"),
        ([*APPEND[:3], "--store", "nowhere"], "nowhere: not-a-store"),
        ([*CHECKPOINT[:-1], "requirement.json"], "key-file"),
        ([*CHECKPOINT[:2], "nowhere", *CHECKPOINT[3:]], "nowhere: not-a-store"),
        ([*CHECKPOINT[:4], "a b", *CHECKPOINT[5:]], "not-a-record"),
        (VERIFY, "log: unsigned: expected a signed checkpoint, got none"),
        (VERIFY[:3], "Missing option '--log-key'"),
    ],
)
def test_what_cannot_be_logged_is_one_line(words: list[str], line: str, capsys: Captured) -> None:
    assert run(APPEND) == 0
    capsys.readouterr()
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert line in err
    assert err.count("\n") == 1
