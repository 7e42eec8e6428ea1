"""Audits at the door: the same, another, or gone; and what a log says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import PINNED, PUBLIC
from tests.paper.evidence.deciding.world import digest_of
from tests.paper.evidence.laboratory import observed, seen_by, write_key

from cacheon.cli.main import run
from cacheon.evidence.grade import Grade
from cacheon.evidence.pointers import GRADES, named
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode, encode

ROOT = Path(__file__).parents[2]
Captured = pytest.CaptureFixture[str]
REQUIREMENT = digest_of(PINNED)
LOG_KEY = ["--log-key", f"lab.example={PUBLIC[1]}"]


@pytest.fixture
def graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> str:
    """A PASS, published in a store; its digest."""
    monkeypatch.chdir(tmp_path)
    Path("requirement.json").write_bytes(encode(PINNED))
    delivery = observed(Path("observed"))
    words = ["--requirement", "requirement.json", "--store", "evidence"]
    assert run(["intake", delivery, "--from", "observed", *words]) == 0
    capsys.readouterr()
    assert run(["grade", "requirement.json", "--store", "evidence", "--format", "json"]) == 0
    return str(json.loads(capsys.readouterr().out)["digest"])


@pytest.fixture
def logged(graded: str, capsys: Captured) -> str:
    """The same grade, listed in a log and signed for; `kept.json` is the checkpoint."""
    write_key(Path("log.key"), 1)
    assert run(["log", "append", "log", "--store", "evidence"]) == 0
    assert run([*CHECKPOINT, "--output", "kept.json"]) == 0
    capsys.readouterr()
    return graded


CHECKPOINT = ["log", "checkpoint", "log", "--origin", "lab.example", "--key", "log.key"]


def auditing(grade: str, *more: str) -> list[str]:
    return ["audit", grade, "--store", "evidence", *more]


def blob(digest: str) -> Path:
    path = Path("evidence", "blobs", digest[:2], digest)
    path.chmod(0o644)
    return path


def test_the_same_again(graded: str, capsys: Captured) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path("evidence").rglob("*")}
    assert run(auditing(graded)) == 0
    out = capsys.readouterr().out
    assert out.startswith("[SAME] the evidence grades to what was published\n  published PASS\n")
    assert f"  grade       {graded}\n" in out
    assert before == {path: path.stat().st_mtime_ns for path in Path("evidence").rglob("*")}
    assert run(auditing(graded[:12], "--format", "json")) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.audit.v1"
    assert body["outcome"] == "same"
    assert body["log"] is None
    assert body["published"] == body["made"]


def published(graded: str, **changes: object) -> str:
    """Another grade over the same evidence, published all the same."""
    with DirectoryStore.open(Path("evidence")) as store:
        made = decode(store.get(graded), Grade)
        digest = store.put(encode(msgspec.structs.replace(made, **changes)))
        store.link(GRADES, named(REQUIREMENT, digest), digest)
    return digest


def test_a_grade_that_its_evidence_does_not_bear_out(graded: str, capsys: Captured) -> None:
    forged = published(graded, decision="FAIL", grader="0.0", grader_digest="0" * 64)
    assert run(auditing(forged)) == 1
    out = capsys.readouterr().out
    assert out.startswith("[DIFFERS] ")
    assert "  published FAIL\n  today     PASS\n  every-case-shown\n" in out
    assert "graded by another version of the code: 0.0\n" in out
    # Another version of the code that comes to the same is no difference.
    assert run(auditing(published(graded, grader="0.0\u202e", grader_digest="0" * 64))) == 0
    assert "graded by another version of the code: 0.0\\u202e\n" in capsys.readouterr().out


def test_a_delivery_left_out_of_a_grade_is_no_match(graded: str) -> None:
    assert run(auditing(published(graded, deliveries=()))) == 1


def test_a_grade_that_names_other_evidence_than_it_rests_on(graded: str, capsys: Captured) -> None:
    assert run(auditing(published(graded, observations=()))) == 1
    out = capsys.readouterr().out
    assert "  the grade names another policy, or other evidence, than it rests on\n" in out
    assert "another version of the code" not in out


@pytest.mark.parametrize("which", ["observation", "delivery", "requirement"])
@pytest.mark.parametrize("how", ["deleted", "spoilt"])
def test_evidence_that_is_gone(which: str, how: str, graded: str, capsys: Captured) -> None:
    with DirectoryStore.open(Path("evidence")) as store:
        made = decode(store.get(graded), Grade)
    digest = {
        "observation": made.observations[0],
        "delivery": made.deliveries[0],
        "requirement": made.requirement,
    }[which]
    if how == "deleted":
        blob(digest).unlink()
    else:
        blob(digest).write_bytes(b"{}")
    assert run(auditing(graded)) == 3
    out = capsys.readouterr().out
    code = "missing" if how == "deleted" else "corrupt"
    assert out.startswith("[LOST] ")
    assert f"  lost {digest}: {code}" in out


def test_a_grade_that_said_so_is_the_same_while_it_is_gone(graded: str, capsys: Captured) -> None:
    row = digest_of(seen_by()[0])
    kept = blob(row).read_bytes()
    blob(row).unlink()
    assert run(["grade", REQUIREMENT, "--store", "evidence", "--format", "json"]) == 3
    later = json.loads(capsys.readouterr().out)["digest"]
    assert run(auditing(later)) == 0
    with DirectoryStore.open(Path("evidence")) as store:
        store.put(kept)
    assert run(auditing(later)) == 1
    assert "  published NO_DECISION\n  today     PASS\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["0" * 64], f"{'0' * 64}: expected a stored file, got none"),
        ([REQUIREMENT], f"{REQUIREMENT}: not-a-record: expected a Grade"),
        (["no"], "expected a digest, or its first 4 or more characters"),
    ],
)
def test_what_is_no_grade_is_one_line(
    words: list[str], line: str, graded: str, capsys: Captured
) -> None:
    assert run([*auditing(*words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert line in err
    assert err.count("\n") == 1


# --- with a log ------------------------------------------------------------------------------


def test_a_grade_is_found_in_the_log(logged: str, capsys: Captured) -> None:
    words = auditing(logged, "--log", "log", *LOG_KEY, "--since", "kept.json")
    assert run(words) == 0
    assert capsys.readouterr().out.endswith(
        "log lab.example\n"
        "  fits its last checkpoint of 2 entries\n"
        "  begins with the 2 entries of the earlier checkpoint\n"
        "  requirement: covered\n"
        "  grade: covered\n"
    )
    assert run([*words, "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["log"]["since"] == 2
    assert body["log"]["grade"] is True


def test_a_grade_that_no_checkpoint_covers(logged: str, capsys: Captured) -> None:
    other = published(logged, grader="0.0")
    for more in ([], ["log", "append", "log", other, "--store", "evidence"]):
        if more:
            assert run(more) == 0
        assert run(auditing(other, "--log", "log", *LOG_KEY)) == 1
        assert "  grade: not covered by the last checkpoint\n" in capsys.readouterr().out
    assert run(CHECKPOINT) == 0
    assert run(auditing(other, "--log", "log", *LOG_KEY, "--since", "kept.json")) == 0
    out = capsys.readouterr().out
    assert "begins with the 2 entries" in out
    assert "checkpoint of 3 entries" in out


def test_a_log_that_was_cut_is_seen(logged: str, capsys: Captured) -> None:
    entries = Path("log/entries")
    entries.write_bytes(entries.read_bytes().splitlines(keepends=True)[0])
    assert run(auditing(logged, "--log", "log", *LOG_KEY)) == 1
    assert "contradicts what it signed  log: log-shrunk: " in capsys.readouterr().out


def test_a_log_that_was_forked_and_signed_anew_is_seen_by_who_kept_a_checkpoint(
    logged: str, capsys: Captured
) -> None:
    for file in Path("log").iterdir():
        file.unlink()
    assert run(["log", "append", "log", logged, REQUIREMENT, "--store", "evidence"]) == 0
    assert run(CHECKPOINT) == 0
    assert run(auditing(logged, "--log", "log", *LOG_KEY)) == 0
    assert run(auditing(logged, "--log", "log", *LOG_KEY, "--since", "kept.json")) == 1
    assert "log: log-forked: expected root " in capsys.readouterr().out


def test_deleted_evidence_is_listed(logged: str, capsys: Captured) -> None:
    other = published(logged, grader="0.0")
    assert run(["log", "append", "log", other, "--store", "evidence"]) == 0
    blob(other).unlink()
    capsys.readouterr()
    assert run(auditing(logged, "--log", "log", *LOG_KEY)) == 0
    assert f"  deleted: grade {other}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--log", "log"], "--log: expected --log and --log-key together"),
        (LOG_KEY, "--log: expected --log and --log-key together"),
        (["--since", "kept.json"], "--log: expected --log and --log-key together"),
        (["--log", "log", "--log-key", "lab.example"], "--log-key: expected NAME=KEY"),
        (["--log", "log", "--log-key", f"={PUBLIC[1]}"], "--log-key: expected NAME=KEY"),
        (
            ["--log", "log", *LOG_KEY, "--log-key", f"other={PUBLIC[1]}"],
            "--log-key: expected keys of one log, got 2",
        ),
        (["--log", "log", "--log-key", f"lab.example={PUBLIC[0]}"], "unsigned: expected 1 of 1"),
        (["--log", "log", "--log-key", f"other={PUBLIC[1]}"], "log-origin: expected other"),
        (["--log", "nowhere", *LOG_KEY], "nowhere: not-a-store"),
        (
            ["--log", "observed", *LOG_KEY],
            "observed: unsigned: expected a signed checkpoint, got none",
        ),
        (["--log", "log", *LOG_KEY, "--since", "requirement.json"], "requirement.json"),
    ],
)
def test_what_is_no_log_is_one_line(
    words: list[str], line: str, logged: str, capsys: Captured
) -> None:
    assert run(auditing(logged, *words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert line in err
    assert err.count("\n") == 1


def test_auditing_loads_neither_torch_nor_the_engine(logged: str) -> None:
    script = (
        "import sys\n"
        "from cacheon.cli.main import run\n"
        f"code = run({auditing(logged, '--log', 'log', *LOG_KEY)!r})\n"
        "print(code, *sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
        check=True,
    )
    code, *names = done.stderr.split()
    assert code == "0"
    assert not {"torch", "triton", "numpy", "rich"} & set(names)
    assert not [name for name in names if name.startswith("cacheon.engine")]
