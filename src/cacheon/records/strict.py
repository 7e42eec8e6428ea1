"""Strict, frozen records: the base of everything that is stored or sent."""

from typing import dataclass_transform

import msgspec


# The decorator repeats for type checkers what the class statement says: a subclass that
# does not say it again is frozen and keyword-only too.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A value that refuses unknown fields and never changes.

    msgspec validates when bytes are decoded, not when a constructor runs; whatever
    crosses a trust boundary is therefore decoded (`records.canonical.decode`), never
    built by hand from parts.
    """
