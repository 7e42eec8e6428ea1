"""Strict, frozen records: the base of everything that is stored or sent."""

import msgspec


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A value that refuses unknown fields and never changes.

    msgspec validates when bytes are decoded, not when a constructor runs; whatever
    crosses a trust boundary is therefore decoded (`records.canonical.decode`), never
    built by hand from parts.
    """
