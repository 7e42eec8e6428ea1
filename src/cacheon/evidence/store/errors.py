"""What the store refuses, and what keeps it from working.

The codes are frozen: scripts and reason codes may rely on them.

| code | meaning |
| --- | --- |
| `not-a-digest` | not 64 lower-case hexadecimal characters |
| `not-a-name` | not a pointer's kind, or not one to three digests joined by `-` |
| `missing` | nothing is stored under that digest |
| `too-large` | more bytes than one record may have |
| `not-a-file` | a link, a FIFO, a socket, a device or a directory where a file must be |
| `hard-link` | the file has a second name outside tmp |
| `corrupt` | the bytes are not those that the digest names |
| `not-a-directory` | a link or a file where a directory of the store must be |
| `not-a-store` | no store of this layout lies there |
| `dangling` | a pointer was to name bytes that are not stored |
| `taken` | the pointer exists and names other bytes |
| `pointer` | a pointer that does not hold one digest |
| `quota` | the store would hold more bytes than its quota |
| `damaged` | what is reachable cannot be told, so nothing is swept |
| `io` | the file system failed (no fault of the bytes) |
| `full` | the file system has no room left (no fault of the bytes) |
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from cacheon.records.errors import InfrastructureError, InputError

_FULL = frozenset([errno.ENOSPC, errno.EDQUOT])


class StoreRefused(InputError):
    """Bytes or names that the store does not take, or bytes that it cannot vouch for."""

    def __init__(
        self, code: str, *, file: str = "", place: str = "", expected: str, got: str
    ) -> None:
        self.code = code
        super().__init__(file=file, place=place or code, expected=expected, got=got)


class PointerTaken(StoreRefused):
    """The pointer exists. `there` is the digest that it names and goes on naming."""

    def __init__(self, file: str, place: str, wanted: str, there: str) -> None:
        self.there = there
        super().__init__(
            "taken", file=file, place=place, expected=f"a free name for {wanted}", got=there
        )


class StoreFailed(InfrastructureError):
    """The file system failed. What was published before stays; the call may be repeated."""

    def __init__(self, error: OSError, file: str) -> None:
        self.code = "full" if error.errno in _FULL else "io"
        said = os.strerror(error.errno or errno.EIO)
        super().__init__(f"{file}: {said}; nothing was decided by this")


@contextlib.contextmanager
def failing(path: Path) -> Iterator[None]:
    """Errors of the system inside become StoreFailed, about the store in `path`."""
    try:
        yield
    except OSError as error:
        raise StoreFailed(error, str(path)) from error
