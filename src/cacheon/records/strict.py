"""Strict, frozen records: the base of everything that is stored or sent."""

from typing import Any, dataclass_transform

import msgspec
from msgspec import inspect

_ATOMS = (
    inspect.StrType,
    inspect.IntType,
    inspect.BoolType,
    inspect.NoneType,
    inspect.LiteralType,
    inspect.BytesType,
)


# The decorator repeats for type checkers what the class statement says: a subclass that
# does not say it again is frozen and keyword-only too.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A value that refuses unknown fields and never changes.

    msgspec validates when bytes are decoded, not when a constructor runs; whatever
    crosses a trust boundary is therefore decoded (`records.canonical.decode`), never
    built by hand from parts.
    """


def is_plain(kind: Any, levels: int) -> bool:
    """Whether a type shows of all JSON that is strictly decoded as it: brackets nest at most
    `levels` deep, there is no float, and keys are text.

    True only of records, tuples of one type and dicts of texts, whole numbers, booleans,
    bytes and nulls. What is no such type is refused by the decoder where it begins."""
    return _is_plain(inspect.type_info(kind), levels)


def _is_plain(info: inspect.Type, levels: int) -> bool:
    if levels < 0:
        return False
    match info:
        case inspect.StructType(forbid_unknown_fields=True, tag=None, array_like=False):
            inner = [field.type for field in info.fields]
        case inspect.VarTupleType():
            inner = [info.item_type]
        case inspect.DictType(key_type=inspect.StrType()):
            inner = [info.value_type]
        case inspect.UnionType():
            return all(_is_plain(each, levels) for each in info.types)
        case _:
            return isinstance(info, _ATOMS)
    return all(_is_plain(each, levels - 1) for each in inner)
