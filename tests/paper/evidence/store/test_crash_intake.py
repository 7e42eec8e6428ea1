"""An intake killed, or failed by its file system, at its system calls: what is left is sound, and
grades to the right decision or to none."""

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import PINNED
from tests.paper.evidence.laboratory import observed, seen_by
from tests.paper.evidence.store import tracing
from tests.paper.evidence.store.tracing import READING, WRITING, Counts, places

from cacheon.evidence.references import references
from cacheon.evidence.store.fsck import fsck_directory
from cacheon.records.canonical import encode
from cacheon.workflows.grade import grade
from cacheon.workflows.intake import intake

SCRIPT = Path(__file__).with_name("delivering.py")

ROOM = ("write", "fsync", "linkat", "mkdir", "mkdirat")
"""What takes room; a name that is opened for writing is one of those that fail with EIO."""


class Sent(NamedTuple):
    """What an observer sent, the requirement's file, and what it must grade to."""

    sent: Path
    requirement: Path
    decision: str
    counts: Counts


def a_delivery(directory: Path, decision: str) -> Sent:
    rows = seen_by()
    if decision == "FAIL":
        rows[-1] = msgspec.structs.replace(rows[-1], failure="replay", stage="replay")
    observed(directory / "sent", rows)
    requirement = directory / "requirement.json"
    requirement.write_bytes(encode(PINNED))
    counts = tracing.counted(directory, SCRIPT, directory / "sent", requirement)
    return Sent(directory / "sent", requirement, decision, counts)


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    return a_delivery(tmp_path_factory.mktemp("passing"), "PASS")


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    return a_delivery(tmp_path_factory.mktemp("failing"), "FAIL")


def decided(given: Sent, root: Path) -> str:
    return grade(str(given.requirement), root).grade.decision


def check(given: Sent, root: Path, code: int) -> str:
    """The decision over what was left, empty where not even a directory was; then the same intake
    is repeated, and the decision is the right one."""
    left = ""
    if root.exists():
        health = fsck_directory(root, references)
        assert health.sound, health
        left = decided(given, root)
        assert left in (given.decision, "NO_DECISION")
        assert left == "NO_DECISION" or not health.unfinished
        assert fsck_directory(root, references).sound
    assert code != 0 or left == given.decision
    intake(str(given.sent), str(given.requirement), root)
    assert decided(given, root) == given.decision
    assert fsck_directory(root, references).sound
    return left


def some(counts: Counts, names: tuple[str, ...]) -> list[tuple[str, int]]:
    """Of each call the first, the last and every thirteenth between; with CACHEON_EVERY_CALL each
    one, which takes ten minutes (`make crash`)."""
    if os.environ.get("CACHEON_EVERY_CALL"):
        return list(places(counts, names))
    return [
        (name, number)
        for name in names
        if (numbers := counts.get(name))
        for number in sorted({*numbers[::13], numbers[-1]})
    ]


def tried(
    given: Sent, tmp_path: Path, names: tuple[str, ...], how: str
) -> tuple[set[int], Counter[str]]:
    """The exit codes, and how often each decision was left."""
    codes: set[int] = set()
    left: Counter[str] = Counter()
    for name, number in some(given.counts, names):
        root = tmp_path / f"{name}{number}"
        script = (SCRIPT, root, given.sent, given.requirement)
        code = tracing.disturbed(script, tmp_path / "trace", name, number, how)
        codes.add(code)
        left[check(given, root, code)] += 1
        shutil.rmtree(root)
    return codes, left


@pytest.mark.slow
def test_killed_while_a_failure_is_taken_in(failing: Sent, tmp_path: Path) -> None:
    codes, left = tried(failing, tmp_path, WRITING, "signal=KILL")
    assert codes == {-9}
    assert set(left) == {"", "FAIL", "NO_DECISION"} and left["NO_DECISION"] > 4


@pytest.mark.slow
def test_killed_while_a_pass_is_taken_in(passing: Sent, tmp_path: Path) -> None:
    codes, left = tried(passing, tmp_path, ("mkdir", "fsync", "linkat"), "signal=KILL")
    assert codes == {-9}
    assert set(left) == {"", "PASS", "NO_DECISION"} and left["NO_DECISION"] > 2


@pytest.mark.slow
def test_every_call_fails_once_while_a_pass_is_taken_in(passing: Sent, tmp_path: Path) -> None:
    codes, left = tried(passing, tmp_path, (*WRITING, *READING), "error=EIO")
    assert codes <= {0, 3}
    assert set(left) == {"", "PASS", "NO_DECISION"} and left["NO_DECISION"] > 4


@pytest.mark.slow
def test_no_room_is_left_while_a_failure_is_taken_in(failing: Sent, tmp_path: Path) -> None:
    codes, left = tried(failing, tmp_path, ROOM, "error=ENOSPC")
    assert codes <= {0, 3}
    assert set(left) == {"", "FAIL", "NO_DECISION"} and left["NO_DECISION"] > 4
