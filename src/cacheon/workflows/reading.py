"""Files that a person names: read once, never more than a limit, and never waited for."""

import errno
import os
import stat
from pathlib import Path
from typing import TypeVar

from cacheon.records.canonical import LIMIT, decode
from cacheon.records.errors import InfrastructureError, InputError, LimitExceeded, RecordRefused

T = TypeVar("T")
# Without O_NONBLOCK whoever opens a FIFO waits for its writer, for ever if there is none.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PATH = frozenset(
    [
        *(errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM),
    ]
)
"""What is the path's fault, and no machine's."""
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """The bytes of a regular file, at most `limit` of them; a link to one may be named.

    Refused with `not-a-file` for a FIFO, a socket, a device or a directory. Raises InputError
    where it cannot be read, LimitExceeded where it is larger, InfrastructureError where the
    file system or the machine failed."""
    try:
        descriptor = os.open(path, _READ)
        try:
            kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
            if kind != stat.S_IFREG:
                raise _no_file(path, _KINDS.get(kind, "another kind of file"))
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it.
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.ENXIO:
            raise _no_file(path, "a socket, or no device") from error
        reason = os.strerror(number) if number else None
        if number is not None and number not in _PATH:
            raise InfrastructureError(f"{path}: {reason}") from error
        raise InputError(
            file=str(path), expected="a readable file", got=reason or "no path"
        ) from error
    if len(data) > limit:
        raise LimitExceeded(file=str(path), expected=f"at most {limit} bytes", got="more")
    return data


def read_record(path: Path, kind: type[T], limit: int = LIMIT) -> T:
    """A record of `kind` from a file of its canonical bytes. Raises InputError."""
    return decode(read_bytes(path, limit), kind, limit=limit, source=str(path))


def _no_file(path: Path, got: str) -> RecordRefused:
    return RecordRefused("not-a-file", file=str(path), expected="a regular file", got=got)
