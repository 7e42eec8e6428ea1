"""Grades at the door: the decision, its reasons, its exit code, and nothing of torch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import PINNED, PUBLIC
from tests.paper.evidence.deciding.world import digest_of
from tests.paper.evidence.laboratory import observed, seen_by

from cacheon.bundle import open_bundle
from cacheon.cli.main import run
from cacheon.evidence.grade import Grade
from cacheon.evidence.observation import Observation
from cacheon.evidence.pointers import DELIVERIES, GRADES, REQUIREMENTS, named
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.workflows.examples import EXAMPLES

ROOT = Path(__file__).parents[2]
Captured = pytest.CaptureFixture[str]
REQUIREMENT = digest_of(PINNED)
GRADING = ["grade", "requirement.json", "--store", "evidence"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def taken(
    rows: list[Observation] | None = None, lab: int = 0, requirement: Requirement = PINNED
) -> str:
    """One lab's rows, observed and taken in; the delivery's digest."""
    Path("requirement.json").write_bytes(encode(requirement))
    delivery = observed(Path(f"lab{lab}"), rows, requirement, lab)
    words = ["--requirement", "requirement.json", "--store", "evidence", "--from", f"lab{lab}"]
    assert run(["intake", delivery, *words]) == 0
    return delivery


def failing() -> list[Observation]:
    first, *others = seen_by()
    return [msgspec.structs.replace(first, failure="replay", stage="replay"), *others]


def blob(digest: str) -> Path:
    return Path("evidence", "blobs", digest[:2], digest)


def test_a_pass_is_published(capsys: Captured) -> None:
    delivery = taken()
    capsys.readouterr()
    assert run(GRADING) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "[PASS] epilogue.v1 under h200 version 3"
    assert lines[1] == "  every-case-shown"
    assert lines[-2] == f"  requirement {REQUIREMENT}"
    digest = lines[-1].split()[1]
    with DirectoryStore.open(Path("evidence")) as store:
        made = decode(store.get(digest), Grade)
        assert store.pointer(GRADES, named(REQUIREMENT, digest)) == digest
    assert made.deliveries == (delivery,)
    assert made.observations == tuple(sorted(map(digest_of, seen_by())))
    # The same evidence is the same grade.
    assert run(["grade", REQUIREMENT, "--store", "evidence"]) == 0
    assert capsys.readouterr().out == out
    assert run(["fsck", "evidence"]) == 0


def test_a_record_of_another_kind_is_a_slip_of_the_pen(capsys: Captured) -> None:
    delivery = taken()
    before = set(Path("evidence").rglob("*"))
    for digest in (delivery, digest_of(seen_by()[0])):
        capsys.readouterr()
        assert run(["grade", digest, "--store", "evidence"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "requirement-unknown: expected a requirement that was published here" in err
        assert f"got another record, {digest}" in err
    assert set(Path("evidence").rglob("*")) == before


def test_a_failure_names_case_and_call(capsys: Captured) -> None:
    taken(failing())
    capsys.readouterr()
    assert run(GRADING) == 1
    out = capsys.readouterr().out
    assert out.startswith("[FAIL] epilogue.v1 under h200 version 3\n  failed-replay ")
    assert "variant=small" in out
    assert "  stage replay\n       dtype=bfloat16 num_tokens=1 world_size=1\n" in out
    assert "a case was captured, and a replay of it was wrong\n" in out
    assert "`cacheon explain` the rule that the row names" in out


def test_json_holds_the_record_and_what_to_do(capsys: Captured) -> None:
    taken(failing())
    capsys.readouterr()
    assert run([*GRADING, "--format", "json"]) == 1
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.graded.v1"
    assert body["target"] == "epilogue.v1"
    (reason,) = body["grade"]["reasons"]
    assert reason["code"] == "failed-replay"
    assert body["calls"] == {reason["case"]: "dtype=bfloat16 num_tokens=1 world_size=1"}
    assert body["codes"]["failed-replay"]["leads"] == "FAIL"
    with DirectoryStore.open(Path("evidence")) as store:
        assert json.loads(store.get(body["digest"])) == body["grade"]


def test_no_evidence_is_no_decision(capsys: Captured) -> None:
    Path("requirement.json").write_bytes(encode(PINNED))
    DirectoryStore.open(Path("evidence"), create=True).close()
    assert run(GRADING) == 3
    assert "[NO_DECISION]" in (out := capsys.readouterr().out)
    assert "  no-evidence\n" in out


def test_deleted_evidence_is_no_decision_and_says_what_is_gone(capsys: Captured) -> None:
    delivery = taken()
    row = digest_of(seen_by()[0])
    blob(row).unlink()
    assert run(GRADING) == 3
    out = capsys.readouterr().out
    assert f"observation-missing observer={PUBLIC[0][:12]}  {row}" in out
    assert f"  set aside {row[:12]}: missing  expected a stored file, got none\n" in out
    assert "nothing is stored under the digest\n" in out
    blob(delivery).unlink()
    assert run(GRADING) == 3
    assert f"delivery-missing observer={PUBLIC[0][:12]}  {delivery}" in capsys.readouterr().out
    blob(REQUIREMENT).unlink()
    assert run(["grade", REQUIREMENT, "--store", "evidence"]) == 3
    assert capsys.readouterr().out.startswith("[NO_DECISION]\n  requirement-missing\n")


def test_a_requirement_that_was_only_published_is_known(capsys: Captured) -> None:
    with DirectoryStore.open(Path("evidence"), create=True) as store:
        store.link(REQUIREMENTS, named(REQUIREMENT), store.put(encode(PINNED)))
    blob(REQUIREMENT).unlink()
    assert run(["grade", REQUIREMENT, "--store", "evidence"]) == 3
    assert "requirement-missing" in capsys.readouterr().out
    room = Path("evidence", "blobs", REQUIREMENT[:2])
    room.rmdir()
    room.symlink_to("..")
    assert run(["grade", REQUIREMENT, "--store", "evidence"]) == 2
    assert "expected a directory of the store, got a link or a file" in capsys.readouterr().err


def test_a_tampered_index_changes_no_grade(capsys: Captured) -> None:
    taken(failing())
    assert run(["ls", "evidence"]) == 0
    Path("evidence/index.sqlite").write_bytes(b"PASS")
    assert run(GRADING) == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["grade", "0" * 64],
            "evidence: requirement-unknown: expected a requirement that was published",
        ),
        (["grade", "nowhere.json"], "nowhere.json: expected a readable file"),
        (["grade", "lab0/format"], "lab0/format: not-a-record: expected a Requirement"),
        ([*GRADING[:2], "--minimum", "h200=4"], "policy-older: expected arena h200 4 or newer"),
        ([*GRADING[:2], "--minimum", "h200=x"], "--minimum: expected NAME=VERSION"),
        (
            [*GRADING[:2], "--expect-bundle", "0" * 64],
            f"--expect-bundle: expected the bundle {'0' * 64}, got {PINNED.bundle}",
        ),
        ([*GRADING[:2], "--expect-bundle", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_graded_is_one_line_and_publishes_nothing(
    words: list[str], line: str, capsys: Captured
) -> None:
    taken()
    capsys.readouterr()
    assert run([*words, "--store", "evidence"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert line in err
    with DirectoryStore.open(Path("evidence")) as store:
        assert list(store.names(GRADES)) == []
        assert len(list(store.names(DELIVERIES))) == 1


def test_the_bundle_that_is_expected(capsys: Captured) -> None:
    example = EXAMPLES / "good" / "torch_rmsnorm"
    bundle = open_bundle(example).digest
    requirement = msgspec.structs.replace(PINNED, bundle=bundle)
    taken(requirement=requirement)
    assert run([*GRADING, "--expect-bundle", bundle]) == 0
    assert run([*GRADING, "--expect-bundle", str(example)]) == 0
    # Nothing can be compared where it is lost, and nothing passes either.
    blob(digest_of(requirement)).unlink()
    lost = ["grade", digest_of(requirement), "--store", "evidence"]
    assert run([*lost, "--expect-bundle", sha256(b"another")]) == 3


def test_no_store_is_made(capsys: Captured) -> None:
    assert run(["grade", "0" * 64, "--store", "nowhere"]) == 2
    assert not Path("nowhere").exists()


def test_grading_loads_neither_torch_nor_the_engine() -> None:
    taken()
    script = (
        "import sys\n"
        "from cacheon.cli.main import run\n"
        f"code = run({GRADING!r})\n"
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
