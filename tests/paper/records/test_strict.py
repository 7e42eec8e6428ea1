"""What a type alone shows of everything that is decoded as it."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from cacheon.evidence.checkpoint import Checkpoint, Consistency, Entry, Inclusion
from cacheon.evidence.kinds import Stored
from cacheon.records.digest import Digest
from cacheon.records.strict import Record, is_plain


class Leaf(Record):
    text: Digest
    word: Literal["a", 1]
    number: Annotated[int, msgspec.Meta(ge=0)]
    either: str | int | bool | None
    data: bytes


class Branch(Record):
    leaves: tuple[Leaf, ...]
    named: dict[str, Leaf]


class Itself(Record):
    again: "tuple[Itself, ...]"


class Lax(msgspec.Struct):
    number: int


class Tagged(Record, tag="tagged"):
    number: int


class Listed(Record, array_like=True):
    number: int


def test_levels_are_brackets() -> None:
    for kind, levels in ((Leaf, 1), (Branch, 3), (dict[str, int], 1), (tuple[str, ...], 1)):
        assert is_plain(kind, levels) and not is_plain(kind, levels - 1)
    assert is_plain(str, 0)


@pytest.mark.parametrize(
    "kind",
    [
        float,
        int | float,
        Any,
        object,
        msgspec.Raw,
        list[float],
        tuple[int, float],
        tuple[float, ...],
        dict[str, float],
        dict[int, str],
        dict[str, Any],
        Itself,
        Lax,
        Tagged,
        Tagged | None,
        Listed,
    ],
)
def test_what_may_be_anything_else_is_not_plain(kind: Any) -> None:
    assert not is_plain(kind, 32)


@pytest.mark.parametrize(
    "kind",
    [*Stored.__args__, Entry, Checkpoint, Inclusion, Consistency],
    ids=lambda each: each.__name__,
)
def test_whatever_is_stored_is_plain(kind: type[Record]) -> None:
    """Else it would be let in all the same, but slowly."""
    assert is_plain(kind, 8)
