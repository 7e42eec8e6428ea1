"""`ls`: what a store holds."""

from pathlib import Path

from cacheon.evidence.kinds import KINDS, describe
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.index import UNREADABLE, Index, Listed
from cacheon.records.errors import InputError


def list_records(store: Path, kind: str = "") -> tuple[Listed, ...]:
    """Every record of a kind, of all kinds where it is empty, sorted by kind and digest.

    The list beside the store is brought up to date first; it decides nothing. Raises
    InputError."""
    known = (*KINDS, UNREADABLE)
    if kind and kind not in known:
        raise InputError(place="--kind", expected=f"one of {', '.join(known)}", got=repr(kind))
    with DirectoryStore.open(store) as opened, Index(opened, describe) as index:
        return tuple(index.ls(kind or None))
