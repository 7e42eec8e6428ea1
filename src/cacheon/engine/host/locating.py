"""Which line of the candidate a process is running that does not answer."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from cacheon.bundle.tree import read_file
from cacheon.engine import processes
from cacheon.engine.host.child import Child
from cacheon.engine.protocol import Where
from cacheon.records.errors import InputError
from cacheon.scan.parse import lines_of

SPEAKS_WITHIN = 2.0
"""Seconds that a process may take to say where it is: many may share a processor."""
SPEAKS_FOR = 0.4
"""Seconds in which it has said so, once it began."""
_FRAME = re.compile(r'File "([^"\n\0]+)", line (\d{1,8}) in (\S+)')
"""A call in a dump of faulthandler's. No file has a NUL in its name."""


def where_they_hang(children: Sequence[Child], root: str) -> list[Where | None]:
    """The line of the candidate that each is running; all are asked before any answers."""
    for child in children:
        child.output.drain()
        child.output.tail = b""
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGUSR1)
    places: list[Where | None] = [None] * len(children)
    latest, settled = time.monotonic() + SPEAKS_WITHIN, False
    while None in places and time.monotonic() < latest:
        time.sleep(0.02)
        for index, child in enumerate(children):
            child.output.drain()
            said = child.output.tail.decode("utf-8", "replace")
            places[index] = places[index] or innermost_line(said, root)
        if not settled and all(map(_has_spoken, children)):
            settled, latest = True, min(latest, time.monotonic() + SPEAKS_FOR)
    return places


def _has_spoken(child: Child) -> bool:
    """Whether a child began to say where it is, or cannot."""
    if child.output.tail or child.output.ended:
        return True
    return processes.is_gone(child.pid) or processes.is_stopped(child.pid)


def innermost_line(dump: str, root: str) -> Where | None:
    """The first line inside `root` of a faulthandler dump (most recent call first)."""
    for file, line, function in _FRAME.findall(dump):
        if root and file.startswith(root + os.sep) and os.path.normpath(file) == file:
            name = file[len(root) + 1 :]
            return Where(
                file=name[:300],
                line=min(int(line), 10_000_000),
                function=function[:300],
                source=_source_line(root, name, int(line)),
            )
    return None


def _source_line(root: str, name: str, line: int) -> str:
    """The candidate says which file, and may have put something else in its place: nothing
    that is linked, in any part of its name, that blocks or that has no end is read."""
    try:
        read = read_file(Path(root), name)
    except InputError:
        return ""
    lines = lines_of(read.decode("utf-8", "replace"))
    return lines[line - 1].strip()[:300] if 0 < line <= len(lines) else ""
