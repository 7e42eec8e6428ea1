"""Files that a person names: read once, never more than a limit."""

from pathlib import Path
from typing import TypeVar

from cacheon.records.canonical import LIMIT, decode
from cacheon.records.errors import InputError, LimitExceeded

T = TypeVar("T")


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """The bytes of a file, at most `limit` of them. Raises InputError where it cannot be
    read, LimitExceeded where it is larger, or has no end."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it.
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            file=str(path), expected="a readable file", got=reason or "no path"
        ) from error
    if len(data) > limit:
        raise LimitExceeded(file=str(path), expected=f"at most {limit} bytes", got="more")
    return data


def read_record(path: Path, kind: type[T], limit: int = LIMIT) -> T:
    """A record of `kind` from a file of its canonical bytes. Raises InputError."""
    return decode(read_bytes(path, limit), kind, limit=limit, source=str(path))
