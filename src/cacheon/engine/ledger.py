"""Which collectives a rank has called since its last command, where the grader can read it.

A page of memory that worker and grader both map. The worker writes a line as it calls, so
that a rank that never answers has still said how far it came. What stands there is a
candidate's word and decides nothing that could let it pass: whoever writes another list
than was called fails, or hangs, as before.
"""

import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

NBYTES = 1 << 16
_COUNT = 8
"""Bytes of the number of entries, at the beginning."""
_ENTRY = 128
MORE = " more"
"""How the last entry that is read ends where there was no room for all."""
_CALL = 4
"""Bytes of an entry that hold which call of the entry it was."""
_MOST = (NBYTES - _ENTRY) // _ENTRY


class Called(NamedTuple):
    """A collective: in which call of the entry, counted from 0 in one command, and what."""

    call: int
    what: str


class Ledger:
    """Over a memfd of NBYTES. A command that calls more collectives than there is room for
    keeps the first ones, and how many there were."""

    def __init__(self, descriptor: int) -> None:
        self._page = mmap.mmap(descriptor, NBYTES)
        self._call = 0
        self._within = threading.local()

    def clear(self) -> None:
        """A new command begins, or is about to."""
        self._call = 0
        self._page[:_COUNT] = bytes(_COUNT)

    def next_call(self) -> None:
        """The entry has returned, and what follows belongs to its next call."""
        self._call += 1

    @contextmanager
    def noting(self, what: str) -> Iterator[None]:
        """A collective begins, and ends with the block. What this thread calls within is
        how it is done, and is not noted again."""
        outer = getattr(self._within, "one", False)
        if not outer:
            self.add(what)
        self._within.one = True
        try:
            yield
        finally:
            self._within.one = outer

    def add(self, what: str) -> None:
        count = int.from_bytes(self._page[:_COUNT], "little")
        if count < _MOST:
            start = (1 + count) * _ENTRY
            body = what.encode("ascii", "replace")[: _ENTRY - _CALL].ljust(_ENTRY - _CALL, b"\0")
            entry = self._call.to_bytes(_CALL, "little") + body
            self._page[start : start + _ENTRY] = entry
        self._page[:_COUNT] = (count + 1).to_bytes(_COUNT, "little")

    def read(self) -> tuple[Called, ...]:
        """What was called, as far as there is room for it; the last entry says of how many
        more there was none."""
        total = int.from_bytes(self._page[:_COUNT], "little")
        count = min(total, _MOST)
        entries = []
        for index in range(count):
            start = (1 + index) * _ENTRY
            call = int.from_bytes(self._page[start : start + _CALL], "little")
            body = self._page[start + _CALL : start + _ENTRY].rstrip(b"\0")
            text = "".join(c if c.isprintable() else "?" for c in body.decode("ascii", "replace"))
            entries.append(Called(call, text))
        if total > count:
            entries.append(Called(entries[-1].call, f"{total - count}{MORE}"))
        return tuple(entries)

    def close(self) -> None:
        self._page.close()
