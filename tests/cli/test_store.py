"""Stores at the door: ls, show, fsck, sweep."""

import json
import os
import time
from pathlib import Path

import pytest
from tests.paper.evidence.deciding.stored import PINNED, PUBLIC, SIGNERS
from tests.paper.evidence.deciding.world import FIRST, digest_of
from tests.paper.evidence.laboratory import observed, seen_by

from cacheon.cli.main import run
from cacheon.evidence.envelope import seal
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import encode

Captured = pytest.CaptureFixture[str]
REQUIREMENT = digest_of(PINNED)


@pytest.fixture
def delivered(tmp_path: Path) -> str:
    return observed(tmp_path / "store")


@pytest.fixture
def root(tmp_path: Path, delivered: str) -> Path:
    return tmp_path / "store"


def blob(root: Path, digest: str) -> Path:
    path = root / "blobs" / digest[:2] / digest
    path.chmod(0o644)
    return path


# --- ls ------------------------------------------------------------------------------------


def test_a_store_is_listed(root: Path, delivered: str, capsys: Captured) -> None:
    assert run(["ls", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "delivery",
        *["observation"] * len(seen_by()),
        "requirement",
    ]
    assert lines[0].split()[1] == delivered
    assert f"requirement={REQUIREMENT[:12]}…" in lines[0]
    assert "observations=5" in lines[0]
    assert lines[-1].split()[1] == REQUIREMENT
    assert "target=epilogue.v1" in lines[-1]


def test_one_kind_and_json(root: Path, capsys: Captured) -> None:
    assert run(["ls", str(root), "--kind", "observation", "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.records.v1"
    assert [each["digest"] for each in body["records"]] == sorted(map(digest_of, seen_by()))
    assert body["records"][0]["facts"]["requirement"] == REQUIREMENT
    assert run(["ls", str(root), "--kind", "grade"]) == 0
    assert capsys.readouterr().out == "nothing of the kind is stored\n"
    assert run(["ls", str(root), "--kind", "grad"]) == 2
    assert "--kind: expected one of delivery, envelope" in capsys.readouterr().err


def test_what_is_no_record_is_listed_as_such(root: Path, capsys: Captured) -> None:
    with DirectoryStore.open(root) as store:
        digest = store.put(b"{}")
    assert run(["ls", str(root), "--kind", "unreadable"]) == 0
    assert capsys.readouterr().out == f"unreadable  {digest}  code=not-a-record\n"


@pytest.mark.parametrize("verb", ["ls", "fsck", "sweep"])
def test_no_store_is_one_line(verb: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "notes").touch()
    assert run([verb, str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "not-a-store: expected a file `format`" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("left", [[], ["format.0123456789abcdef"]])
def test_a_store_that_was_never_finished_is_sound_and_said_to_be_empty(
    left: list[str], tmp_path: Path, capsys: Captured
) -> None:
    for name in left:
        (tmp_path / "tmp").mkdir()
        (tmp_path / "tmp" / name).write_bytes(b"cacheon-")
    assert run(["fsck", str(tmp_path)]) == 0
    said = "no store yet  making it was interrupted: nothing was ever stored\n"
    assert capsys.readouterr().out == said
    assert run(["fsck", str(tmp_path), "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["sound"] is body["health"]["unfinished"] is True
    assert run(["ls", str(tmp_path)]) == 2


# --- show ----------------------------------------------------------------------------------


def test_a_delivery_is_shown_by_its_beginning(root: Path, delivered: str, capsys: Captured) -> None:
    assert run(["show", delivered[:16], "--store", str(root)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"delivery {delivered}")
    assert f"signed by     key id {SIGNERS[0].id}, unverified\n" in out
    assert "rests on      6 records\n" in out
    assert f'  "nonce": "{PINNED.nonce}",\n' in out


def test_json_holds_all_of_it(root: Path, delivered: str, capsys: Captured) -> None:
    assert run(["show", delivered, "--store", str(root), "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.record.v1"
    assert body["signatures"] == [SIGNERS[0].id]
    assert body["record"]["observer"] == PUBLIC[0]
    assert body["references"] == sorted([REQUIREMENT, *map(digest_of, seen_by())])
    row = digest_of(seen_by()[0])
    assert run(["show", row, "--store", str(root), "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["kind"] == "observation"
    assert body["signatures"] == []
    assert body["record"]["case"] == FIRST.case


def test_another_envelope_is_shown_unopened(root: Path, capsys: Captured) -> None:
    with DirectoryStore.open(root) as store:
        digest = store.put(seal(b"{}", "a/b", SIGNERS[:2]))
    assert run(["show", digest, "--store", str(root)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"envelope {digest}")
    assert out.count("key id") == 2
    assert "rests on" not in out


def test_text_of_a_record_moves_no_cursor(root: Path, capsys: Captured) -> None:
    row = encode({**json.loads(encode(seen_by()[0])), "infrastructure": "\u202e\u2066"})
    with DirectoryStore.open(root) as store:
        digest = store.put(row)
    assert run(["show", digest, "--store", str(root)]) == 0
    out = capsys.readouterr().out
    assert '"infrastructure": "\\u202e\\u2066"' in out
    assert "\u202e" not in out


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ("0" * 64, f"{'0' * 64}: expected a stored file, got none"),
        ("0" * 63, f"expected one record that begins with {'0' * 63}, got 0"),
        ("abc", "expected a digest, or its first 4 or more characters"),
        ("../../etc/passwd", "expected a digest, or its first 4 or more characters"),
        ("A" * 64, "expected a digest, or its first 4 or more characters"),
    ],
)
def test_what_names_no_record_is_one_line(
    named: str, line: str, root: Path, capsys: Captured
) -> None:
    assert run(["show", named, "--store", str(root)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert line in err
    assert err.count("\n") == 1


def test_damaged_bytes_are_not_shown(root: Path, delivered: str, capsys: Captured) -> None:
    blob(root, delivered).write_bytes(b"{}")
    assert run(["show", delivered, "--store", str(root)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{delivered}: expected the bytes of this digest, got others" in err


# --- fsck ----------------------------------------------------------------------------------


def test_a_sound_store(root: Path, capsys: Captured) -> None:
    assert run(["fsck", str(root)]) == 0
    assert capsys.readouterr().out.startswith("sound  7 records, ")
    with DirectoryStore.open(root) as store:
        orphan = store.put(b"{}")
    (root / "tmp" / "spare").touch()
    assert run(["fsck", str(root)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"orphans    {orphan}\nleftovers  spare\nsound  8 records, ")
    assert out.endswith(", 2 to sweep\n")


def test_damage_is_exit_1(root: Path, delivered: str, capsys: Captured) -> None:
    gone, spoilt = (digest_of(row) for row in seen_by()[:2])
    blob(root, gone).unlink()
    blob(root, spoilt).write_bytes(b"{}")
    (root / "stray").touch()
    assert run(["fsck", str(root)]) == 1
    out = capsys.readouterr().out
    assert f"corrupt    {spoilt}\n" in out
    assert f"missing    {gone}\n" in out
    assert "foreign    stray\n" in out
    assert "\ndamaged  5 records, " in out
    assert run(["fsck", str(root), "--format", "json"]) == 1
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.health.v1"
    assert body["sound"] is False
    assert body["health"]["missing"] == [gone]


def test_a_tampered_index_is_no_damage(root: Path, capsys: Captured) -> None:
    assert run(["ls", str(root)]) == 0
    listed = capsys.readouterr().out
    (root / "index.sqlite").write_bytes(b"not a database")
    assert run(["fsck", str(root)]) == 0
    capsys.readouterr()
    assert run(["ls", str(root)]) == 0
    assert capsys.readouterr().out == listed


# --- sweep ---------------------------------------------------------------------------------


def aged(root: Path, seconds: int) -> None:
    for path in root.rglob("*"):
        os.utime(path, (time.time() - seconds,) * 2)


def test_what_is_old_and_not_committed_goes(root: Path, capsys: Captured) -> None:
    with DirectoryStore.open(root) as store:
        orphan = store.put(b"{}")
    (root / "tmp" / "spare").touch()
    aged(root, 6 * 86400)
    assert run(["sweep", str(root)]) == 0
    assert capsys.readouterr().out == "removed 0, 0 bytes\n"
    told = f"leftover  spare\norphan    {orphan}\n"
    assert run(["sweep", str(root), "--older-than", "5d", "--dry-run"]) == 0
    assert capsys.readouterr().out == f"{told}would remove 2, 2 bytes\n"
    assert (root / "tmp" / "spare").exists()
    assert run(["sweep", str(root), "--older-than", "5d"]) == 0
    assert capsys.readouterr().out == f"{told}removed 2, 2 bytes\n"
    assert run(["fsck", str(root)]) == 0
    assert capsys.readouterr().out.startswith("sound  7 records")
    assert run(["sweep", str(root), "--older-than", "0", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "cacheon.swept.v1",
        "dry_run": False,
        "swept": {"leftovers": [], "orphans": [], "bytes": 0},
    }


def test_a_damaged_store_is_not_swept(root: Path, capsys: Captured) -> None:
    blob(root, digest_of(seen_by()[0])).unlink()
    assert run(["sweep", str(root), "--older-than", "0s"]) == 2
    assert "expected everything reached to be sound" in capsys.readouterr().err


@pytest.mark.parametrize("age", ["", "-1", "1w", "1.5h", "soon", "9" * 10, "٣"])
def test_what_is_no_age_is_refused(age: str, root: Path, capsys: Captured) -> None:
    assert run(["sweep", str(root), f"--older-than={age}"]) == 2
    assert "--older-than: expected a whole number and s, m, h or d" in capsys.readouterr().err
