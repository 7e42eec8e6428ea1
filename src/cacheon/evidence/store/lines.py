"""Append-only files of lines: what a log is kept in.

A line counts once its line feed is written. A last line without one is torn: its writer
died, nobody was promised anything, and the next writer takes it away.
"""

import os

from cacheon.evidence.store.errors import StoreRefused, failing
from cacheon.evidence.store.files import APPEND, reopened, write
from cacheon.evidence.store.limits import LIMITS
from cacheon.evidence.store.rooms import Rooms


class Lines:
    """One file in the root of `rooms`; one writer at a time, which its caller sees to.

    Errors are StoreRefused (`not-a-file`, `hard-link`, `corrupt` where it shrank or a line
    has no end, `too-large`, `quota`) and StoreFailed."""

    def __init__(self, rooms: Rooms, name: str) -> None:
        self.rooms, self.name = rooms, name
        self.end = 0

    def read(self) -> list[bytes]:
        """The complete lines that came after the last call, without their line feeds."""
        with failing(self.rooms.root):
            try:
                with reopened(self.rooms, "", self.name) as descriptor:
                    size = os.fstat(descriptor).st_size
                    if size > LIMITS.log_bytes:
                        raise self._refused("too-large", f"at most {LIMITS.log_bytes} bytes", size)
                    if size < self.end:
                        raise self._refused("corrupt", f"{self.end} bytes or more", size)
                    data = os.pread(descriptor, size - self.end, self.end)
            except StoreRefused as error:
                if error.code != "missing" or self.end:
                    raise
                return []
        *lines, torn = data.split(b"\n")
        self.end += len(data) - len(torn)
        return lines

    def append(self, line: bytes) -> None:
        """Add a line, durable when this returns, and everything before it with it."""
        if len(line) >= LIMITS.line_bytes or b"\n" in line:
            raise self._refused("too-large", f"one line below {LIMITS.line_bytes} bytes", len(line))
        with failing(self.rooms.root), reopened(self.rooms, "", self.name, APPEND) as descriptor:
            size = os.fstat(descriptor).st_size
            if size + len(line) >= LIMITS.log_bytes:
                raise self._refused("quota", f"at most {LIMITS.log_bytes} bytes", size)
            start = max(0, size - LIMITS.line_bytes)
            last = os.pread(descriptor, size - start, start).rfind(b"\n")
            if last < 0 and start:
                raise self._refused("corrupt", "a line feed in the last line's length", "none")
            if start + last + 1 != size:
                os.ftruncate(descriptor, start + last + 1)
            write(descriptor, line + b"\n")
            self._sync(descriptor)

    def sync(self) -> None:
        """Make durable what is there: whoever wrote it may have died first."""
        with failing(self.rooms.root), reopened(self.rooms, "", self.name) as descriptor:
            self._sync(descriptor)

    def _sync(self, descriptor: int) -> None:
        self.rooms.sync(descriptor)
        self.rooms.sync(self.rooms.get(""))

    def _refused(self, code: str, expected: str, got: int | str) -> StoreRefused:
        return StoreRefused(
            code, file=str(self.rooms.root), place=self.name, expected=expected, got=f"{got}"
        )
