"""The small record of which every hostile document is made, and how they are made."""

from typing import Literal, NamedTuple

from cacheon.records.digest import Digest
from cacheon.records.strict import Record

Code = Literal[
    "not-a-record",
    "not-canonical",
    "too-deep",
    "too-large",
    "large-integer",
    "control-character",
    "key",
]
LIMIT = 8192
"""Bytes that the gate is told to take."""
DIGEST = "0123456789abcdef" * 4


class Part(Record):
    """A part of the small record."""

    name: str
    weight: int


class Small(Record):
    """One field of every kind that records have."""

    schema: Literal["small/1"]
    count: int
    digest: Digest
    flag: bool
    labels: dict[str, int]
    note: str | None
    parts: tuple[Part, ...]


GOOD = (
    '{"count":7,"digest":"' + DIGEST + '","flag":true,"labels":{"a":1,"b":2},"note":"é",'
    '"parts":[{"name":"one","weight":1},{"name":"two","weight":-2}],"schema":"small/1"}'
).encode()
"""What the gate takes, byte for byte."""


class Document(NamedTuple):
    name: str
    data: bytes
    code: Code


def changed(old: str, new: str | bytes) -> bytes:
    """The good document with one piece replaced."""
    assert GOOD.count(old.encode()) == 1, old
    return GOOD.replace(old.encode(), new.encode() if isinstance(new, str) else new)


def valued(text: str | bytes) -> bytes:
    """Another value of `count`."""
    raw = text.encode() if isinstance(text, str) else text
    return changed('"count":7', b'"count":' + raw)


def noted(text: str | bytes) -> bytes:
    """Another text of `note`, between its quotes."""
    raw = text.encode() if isinstance(text, str) else text
    return changed('"note":"é"', b'"note":"' + raw + b'"')


def rows(code: Code, rows: dict[str, bytes]) -> list[Document]:
    return [Document(name, data, code) for name, data in rows.items()]
