"""A script watched and disturbed with strace, from its own first call on.

Such a script takes a directory first, says "ready", waits for a byte, looks for MARK, works,
and exits with 3 where the file system failed.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

MARK = "/nothing-lies-here-the-publish-begins"
WRITING = ("openat", "write", "fsync", "link", "linkat", "mkdir", "mkdirat", "unlink", "unlinkat")
READING = ("newfstatat", "fstat", "statx", "pread64", "getdents64", "flock", "close")
MARKS = "?access,?faccessat,?faccessat2"
# What is called, then an address or a path: only the name counts.
CALL = re.compile(r"^\d+ +(\w+)\(")
Counts = dict[str, range]


def traced(script: Sequence[str | Path], trace: Path, calls: str, *inject: str) -> int:
    """Run the script with its arguments; its exit code, −9 where it was killed. 1 where
    strace may not attach."""
    command = ["strace", "-f", "-o", str(trace), "-e", f"trace={calls},{MARKS}", *inject]
    root = Path(sys.modules["cacheon"].__file__ or "").parents[1]
    source = os.pathsep.join([str(root), str(Path(__file__).parents[4])])
    with subprocess.Popen(
        [sys.executable, *map(str, script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=source),
    ) as publisher:
        assert publisher.stdin and publisher.stdout
        assert publisher.stdout.readline() == b"ready\n"
        with subprocess.Popen(
            [*command, "-p", str(publisher.pid)], stderr=subprocess.PIPE, text=True
        ) as strace:
            # It says so once it has interrupted the script, from when on it misses no call;
            # a tracer the script has somewhat earlier.
            assert strace.stderr
            if not any("attached" in line for line in strace.stderr):
                publisher.kill()
                return 1
            publisher.communicate(b".", timeout=60)
    return publisher.returncode


def counted(directory: Path, script: Path, *more: str | Path) -> Counts:
    """For each call, which of its occurrences belong to the work, counted from 1. Skips, which
    is a failure under CACHEON_STRICT, where nothing can be traced."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    wanted = ",".join(f"?{name}" for name in (*WRITING, *READING))
    # Containers may have strace and not let it trace.
    if traced((script, directory / "store", *more), directory / "trace", wanted) != 0:
        pytest.skip("strace may not trace here")
    before, after = Counter[str](), Counter[str]()
    seen = before
    for line in (directory / "trace").read_text().splitlines():
        if MARK in line:
            seen = after
        elif match := CALL.match(line):
            seen[match[1]] += 1
    return {name: range(before[name] + 1, before[name] + after[name] + 1) for name in after}


def places(counts: Counts, names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    yield from ((name, number) for name in names for number in counts.get(name, ()))


def disturbed(script: Sequence[str | Path], trace: Path, name: str, number: int, how: str) -> int:
    """One run with one disturbance, which must have come after the work began."""
    code = traced(script, trace, name, "-e", f"inject={name}:{how}:when={number}")
    assert MARK in trace.read_text(), "it was disturbed before it began"
    return code
