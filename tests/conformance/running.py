"""Runs one directory of the suite, in-process or against another implementation."""

import contextlib
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cacheon.cli.main import run

SECONDS = 20
"""What hangs, say at a FIFO, fails."""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def body(self) -> dict[str, Any]:
        """The JSON document on standard output."""
        found = json.loads(self.out)
        if not isinstance(found, dict):
            raise ValueError("no object")
        return found


def prepare(directory: Path, scratch: Path) -> None:
    """`given/`, copied, and what `make` describes."""
    given = directory / "given"
    if given.exists():
        shutil.copytree(given, scratch, dirs_exist_ok=True)
    make = directory / "make"
    for line in make.read_text().splitlines() if make.exists() else ():
        _make(scratch, *shlex.split(line))


def _make(scratch: Path, what: str, name: str, *rest: str) -> None:
    path = scratch / name
    path.parent.mkdir(parents=True, exist_ok=True)
    match what, rest:
        case "fifo", []:
            os.mkfifo(path)
        case "directory", []:
            path.mkdir(parents=True)
        case "link", [target]:
            path.symlink_to(target)
        case "hardlink", [target]:
            path.hardlink_to(scratch / target)
        case "zeros", [size]:
            path.write_bytes(bytes(int(size)))
        case "mode", [mode]:
            path.chmod(int(mode, 8))
        case _:
            raise ValueError(f"make: {what} {name} {rest}")


def answer(line: str, scratch: Path) -> Done:
    """What one command line answers, in `scratch`. CACHEON_COMMAND names another
    implementation's command, which is then started instead."""
    first, *words = shlex.split(line)
    if first != "cacheon":
        raise ValueError(f"command: {line}")
    other = os.environ.get("CACHEON_COMMAND")
    if other:
        done = subprocess.run(
            [*shlex.split(other), *words],
            cwd=scratch,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with (
        contextlib.chdir(scratch),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _deadline(),
    ):
        code = run(words)
    out.flush()
    return Done(code, out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]


@contextlib.contextmanager
def _deadline() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"no answer in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
