"""Anything we say, as one JSON object under a schema name."""

import re
from typing import Any

import msgspec

_UNPLAIN = re.compile(r"[^\n\x20-\x7e]")
RUN = "cacheon.verify.v1"
"""The schema of a RunOutcome."""


def document(schema: str, body: Any) -> bytes:
    """Indented JSON of a record or mapping, keys sorted, ASCII escapes for what is not
    one_line; numbers that were measured are exact strings already."""
    whole = {"schema": schema, **_sayable(msgspec.to_builtins(body, str_keys=True))}
    return spelled(msgspec.json.encode(whole, order="sorted"))


def _sayable(value: Any) -> Any:
    """Builtins, of which a name of a file that is no UTF-8 shows its bytes as escapes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sayable(key): _sayable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(each) for each in value]
    return value


def spelled(data: bytes) -> bytes:
    """JSON, indented, with an end of line. What could move a cursor or turn a line round stands
    there as an escape."""
    text = msgspec.json.format(data, indent=2).decode()
    return _UNPLAIN.sub(_escaped, text).encode() + b"\n"


def _escaped(found: re.Match[str]) -> str:
    """Such a character stands inside a string: what is around those is plain."""
    character = found[0]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
