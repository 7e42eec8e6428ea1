"""One digest for everything that decides about a slot: its data, its numbers, its sources."""

from pathlib import Path
from typing import Any

import msgspec

import cacheon
from cacheon.contract.slots.model import ROW_ERROR, TOLERANCE, Slot
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

_GRADER = Path(cacheon.__file__).parent / "engine" / "grader"
_DECIDING = ("compare", "draws", "references")
"""Packages of the grader whose sources are part of every slot's contract: what is drawn,
what is right, and how the two are compared."""


def contract_digest(slot: Slot) -> str:
    """The digest of a slot's whole contract: signature, shapes, layouts and correctness,
    the tolerances by dtype, and the source files of draws, references and comparison. They
    are read as bytes: nothing of the grader is imported. Raises OSError."""
    body = {
        "slot": exact(msgspec.to_builtins(slot)),
        "tolerance": exact(TOLERANCE),
        "row_error": exact(ROW_ERROR),
        "sources": deciding_sources(_GRADER),
    }
    return sha256(encode(body))


def deciding_sources(grader: Path) -> dict[str, str]:
    """Digests of the sources that decide, by path below the grader's directory."""
    files = sorted(path for room in _DECIDING for path in (grader / room).rglob("*.py"))
    return {path.relative_to(grader).as_posix(): sha256(path.read_bytes()) for path in files}


def exact(value: Any) -> Any:
    """The value with each float in C's hexadecimal spelling, for bytes that hold none."""
    match value:
        case float():
            return value.hex()
        case dict():
            return {key: exact(item) for key, item in value.items()}
        case list() | tuple():
            return [exact(item) for item in value]
    return value
