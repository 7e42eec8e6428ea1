"""A publisher killed, or failed by its file system, at every system call of one publish."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cacheon.evidence.envelope import Pin
from cacheon.evidence.log import Log
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.fsck import fsck
from cacheon.evidence.store.sweep import sweep
from cacheon.records.digest import sha256

SCRIPT = Path(__file__).with_name("publishing.py")
PUBLISHING = runpy.run_path(str(SCRIPT))
LISTED = sha256(PUBLISHING["LIST"])
WRITING = ("openat", "write", "fsync", "link", "linkat", "mkdir", "mkdirat", "unlink", "unlinkat")
READING = ("newfstatat", "fstat", "statx", "pread64", "getdents64", "flock", "close")
MARKS = "?access,?faccessat,?faccessat2"
# What is called, then an address or a path: only the name counts.
CALL = re.compile(r"^\d+ +(\w+)\(")


def traced(root: Path, trace: Path, calls: str, *inject: str) -> int:
    """Run the publisher, watched from its first own call on; its exit code, −9 where it
    was killed. 1 where strace may not attach."""
    command = ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={calls},{MARKS}", *inject]
    source = str(Path(sys.modules["cacheon"].__file__ or "").parents[1])
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=source),
    ) as publisher:
        assert publisher.stdin and publisher.stdout
        assert publisher.stdout.readline() == b"ready\n"
        status = Path(f"/proc/{publisher.pid}/status")
        with subprocess.Popen(
            [*command, "-p", str(publisher.pid)], stderr=subprocess.DEVNULL
        ) as strace:
            while "TracerPid:\t0" in status.read_text():
                if strace.poll() is not None:
                    publisher.kill()
                    return 1
            publisher.communicate(b".", timeout=60)
    return publisher.returncode


def can_trace(directory: Path) -> bool:
    """Containers may have strace and not let it trace."""
    return traced(directory / "store", directory / "trace", "?fsync") == 0


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, range]:
    """For each call, which of its occurrences belong to the publish, counted from 1."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    directory = tmp_path_factory.mktemp("count")
    if not can_trace(directory):
        pytest.skip("strace may not trace here")
    shutil.rmtree(directory / "store")
    wanted = ",".join(f"?{name}" for name in (*WRITING, *READING))
    assert traced(directory / "store", directory / "trace", wanted) == 0
    before, after = Counter[str](), Counter[str]()
    seen = before
    for line in (directory / "trace").read_text().splitlines():
        if PUBLISHING["MARK"] in line:
            seen = after
        elif match := CALL.match(line):
            seen[match[1]] += 1
    return {name: range(before[name] + 1, before[name] + after[name] + 1) for name in after}


def places(counts: dict[str, range], names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    yield from ((name, number) for name in names for number in counts.get(name, ()))


def check(root: Path, code: int) -> None:
    """What an interrupted publisher leaves is sound, and the next one completes it."""
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
    """One run with one disturbance, which must have come after the publish began."""
    root, trace = tmp_path / f"{name}{number}", tmp_path / "trace"
    code = traced(root, trace, name, "-e", f"inject={name}:{how}:when={number}")
    assert PUBLISHING["MARK"] in trace.read_text(), "it was disturbed before it began"
    check(root, code)
    shutil.rmtree(root)
    return code


@pytest.mark.slow
def test_killed_at_every_call(tmp_path: Path, counts: dict[str, range]) -> None:
    tried = [
        disturbed(tmp_path, name, number, "signal=KILL")
        for name, number in places(counts, (*WRITING, *READING))
    ]
    assert len(tried) > 100 and set(tried) == {-9}


@pytest.mark.slow
def test_every_call_fails_once(tmp_path: Path, counts: dict[str, range]) -> None:
    tried = Counter(
        disturbed(tmp_path, name, number, "error=EIO")
        for name, number in places(counts, (*WRITING, *READING))
    )
    # What is closed at the very end may fail unseen.
    assert set(tried) == {0, 3} and tried[3] > 80


@pytest.mark.slow
def test_no_room_is_left_at_every_call_that_writes(
    tmp_path: Path, counts: dict[str, range]
) -> None:
    tried = Counter(
        disturbed(tmp_path, name, number, "error=ENOSPC")
        for name, number in places(counts, WRITING)
    )
    assert set(tried) <= {0, 3} and tried[3] > 50
