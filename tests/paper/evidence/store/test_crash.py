"""A publisher killed, or failed by its file system, at every system call of one publish."""

import runpy
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.paper.evidence.store import tracing
from tests.paper.evidence.store.tracing import MARK, READING, WRITING, Counts, places

from cacheon.evidence.envelope import Pin
from cacheon.evidence.log import Log
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.fsck import fsck, fsck_directory
from cacheon.evidence.store.sweep import sweep
from cacheon.records.digest import sha256

SCRIPT = Path(__file__).with_name("publishing.py")
PUBLISHING = runpy.run_path(str(SCRIPT))
LISTED = sha256(PUBLISHING["LIST"])


def test_the_mark_is_the_script_s() -> None:
    assert PUBLISHING["MARK"] == MARK


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return tracing.counted(tmp_path_factory.mktemp("count"), SCRIPT)


def check(root: Path, code: int) -> None:
    """What an interrupted publisher leaves is sound, and the next one completes it."""
    assert not root.exists() or fsck_directory(root, PUBLISHING["references"]).sound
    with DirectoryStore.open(root, create=True) as store:
        health = fsck(store, PUBLISHING["references"])
        assert health.sound, health
        published = store.pointer("deliveries", LISTED) if "deliveries" in store.kinds() else None
        if published:
            assert store.get(LISTED) == PUBLISHING["LIST"] and not health.orphans
        assert published or code != 0
    PUBLISHING["publish"](root)
    with DirectoryStore.open(root) as store:
        health = fsck(store, PUBLISHING["references"])
        assert health.sound and not health.orphans and health.blobs == 3
        for record in PUBLISHING["RECORDS"]:
            assert store.get(sha256(record)) == record
        sweep(store, PUBLISHING["references"], older_than=-5)
        assert not fsck(store, PUBLISHING["references"]).leftovers
    with Log(root / "log", origin=PUBLISHING["ORIGIN"]) as log:
        assert [entry.digest for entry in log.entries()] == [LISTED]
        assert log.check([Pin(key=PUBLISHING["KEY"].public, role="log")])


def disturbed(tmp_path: Path, name: str, number: int, how: str) -> int:
    root = tmp_path / f"{name}{number}"
    code = tracing.disturbed((SCRIPT, root), tmp_path / "trace", name, number, how)
    check(root, code)
    shutil.rmtree(root)
    return code


@pytest.mark.slow
def test_killed_at_every_call(tmp_path: Path, counts: Counts) -> None:
    tried = [
        disturbed(tmp_path, name, number, "signal=KILL")
        for name, number in places(counts, (*WRITING, *READING))
    ]
    assert len(tried) > 100 and set(tried) == {-9}


@pytest.mark.slow
def test_every_call_fails_once(tmp_path: Path, counts: Counts) -> None:
    tried = Counter(
        disturbed(tmp_path, name, number, "error=EIO")
        for name, number in places(counts, (*WRITING, *READING))
    )
    # What is closed at the very end may fail unseen.
    assert set(tried) == {0, 3} and tried[3] > 80


@pytest.mark.slow
def test_no_room_is_left_at_every_call_that_writes(tmp_path: Path, counts: Counts) -> None:
    tried = Counter(
        disturbed(tmp_path, name, number, "error=ENOSPC")
        for name, number in places(counts, WRITING)
    )
    assert set(tried) <= {0, 3} and tried[3] > 50
