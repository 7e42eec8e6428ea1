"""Where a process hangs: asked of processes, and read from text that a candidate may have
written."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cacheon.engine.host import locating
from cacheon.engine.host.child import Child, Output
from cacheon.engine.host.locating import SPEAKS_FOR, innermost_line, where_they_hang

Speaker = Callable[[str], Child]
PATIENT = 60.0
LATE = """
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.write(1, b".")
signal.sigwait([signal.SIGUSR1])
time.sleep({seconds})
os.write(2, b'File "{file}", line 1 in entry\\n')
time.sleep(1000)
"""
"""A signal that a Python handler awaits may come just before a sleep and end none."""


@pytest.fixture
def speaker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Speaker]:
    """Starts a process with this source, once it has written to its standard output. However
    busy the machine, nobody's patience ends before it has spoken."""
    monkeypatch.setattr(locating, "SPEAKS_WITHIN", PATIENT)
    started: list[subprocess.Popen[bytes]] = []
    children: list[Child] = []

    def start(source: str) -> Child:
        process = subprocess.Popen(
            [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        ours, theirs = socket.socketpair()
        theirs.close()
        children.append(Child(process.pid, Output(os.dup(process.stderr.fileno())), ours))
        return children[-1]

    yield start
    for child in children:
        child.close()
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_one_that_speaks_late_is_heard(tmp_path: Path, speaker: Speaker) -> None:
    """Many processes may share a processor."""
    (tmp_path / "k.py").write_text("while True: pass\n")
    late = LATE.format(seconds=2 * SPEAKS_FOR, file=tmp_path / "k.py")
    prompt = LATE.format(seconds=0, file="/elsewhere/k.py")
    nowhere, found = where_they_hang([speaker(prompt), speaker(late)], str(tmp_path))
    assert nowhere is None
    assert found is not None and (found.file, found.source) == ("k.py", "while True: pass")


@pytest.mark.slow
def test_nobody_is_waited_for_who_cannot_speak(speaker: Speaker) -> None:
    """It would be a longer wait than for one that does not."""
    stopped = speaker(LATE.format(seconds=0, file="k.py"))
    os.kill(stopped.pid, signal.SIGSTOP)
    started = time.monotonic()
    assert where_they_hang([stopped], "/k") == [None]
    assert SPEAKS_FOR <= time.monotonic() - started < PATIENT


# --- the traceback: text that a candidate may have written --------------------------------------


def test_the_innermost_line_inside_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("one\x0c\u2028\n  two  \nthree\n")
    dump = (
        "Current thread 0x1 (most recent call first):\n"
        f'  File "/usr/lib/python3/threading.py", line 7 in wait\n'
        f'  File "{tmp_path}/k.py", line 2 in entry\n'
        f'  File "{tmp_path}/k.py", line 3 in <module>\n'
    )
    where = innermost_line(dump, str(tmp_path))
    assert where is not None
    assert (where.file, where.line, where.function, where.source) == ("k.py", 2, "entry", "two")
    assert innermost_line(dump, str(tmp_path / "other")) is None
    assert innermost_line(dump, "") is None


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("no_such.py", "1"),
        ("k.py", "0"),
        ("k.py", "99"),
        ("k.py", "9" * 8),
        ("directory", "1"),
        ("binary.py", "1"),
        ("../outside.py", "1"),
        ("../../../../../../../../../../dev/zero", "1"),
        ("link.py", "1"),
        ("zero.py", "1"),
        ("fifo.py", "1"),
        ("linked/outside.py", "1"),
        ("hard.py", "1"),
        ("nul\0.py", "1"),
    ],
)
def test_a_line_that_cannot_be_read_has_no_source(tmp_path: Path, file: str, line: str) -> None:
    root = tmp_path / "bundle"
    (root / "directory").mkdir(parents=True)
    (root / "k.py").write_text("one\n")
    (root / "binary.py").write_bytes(b"\n\xff\xfe\0")
    (tmp_path / "outside.py").write_text("secret\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "zero.py").symlink_to("/dev/zero")
    os.mkfifo(root / "fifo.py")
    (root / "linked").symlink_to(tmp_path)
    (root / "hard.py").hardlink_to(tmp_path / "outside.py")
    where = innermost_line(f'File "{root}/{file}", line {line} in f\n', str(root))
    assert where is None or where.source == ""


def test_a_line_number_without_end_is_no_line(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("one\n")
    dump = f'File "{tmp_path}/k.py", line {"9" * 6000} in f\n'
    assert innermost_line(dump, str(tmp_path)) is None


def test_names_without_end_are_cut(tmp_path: Path) -> None:
    dump = f'File "{tmp_path}/{"d" * 900}", line 1 in {"f" * 900}\n'
    where = innermost_line(dump, str(tmp_path))
    assert where is not None
    assert (len(where.file), len(where.function)) == (300, 300)
