"""`log`: an append-only list of what was published, with signed checkpoints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cacheon.evidence.auditing import follow
from cacheon.evidence.checkpoint import (
    ROLE,
    Checkpoint,
    Entry,
    open_checkpoint,
    sign_checkpoint,
)
from cacheon.evidence.envelope import Pin
from cacheon.evidence.keys import PREFIX, Key
from cacheon.evidence.kinds import known
from cacheon.evidence.log import Log
from cacheon.evidence.pointers import GRADES, REQUIREMENTS
from cacheon.evidence.store import LIMITS, DirectoryStore
from cacheon.records.digest import is_digest
from cacheon.records.errors import InputError, RecordRefused
from cacheon.records.strict import Record
from cacheon.workflows.reading import read_bytes

LOGGED: Final = (REQUIREMENTS, GRADES)
"""What is logged: by it everything else is named."""


CONTRADICTED: Final = frozenset(("log-forked", "log-order", "log-proof", "log-shrunk"))
"""Codes that say that a log is not what it signed."""


class Numbered(Record):
    """An entry of a log. `index` from 0."""

    index: int
    kind: str
    digest: str


class Signed(Record):
    """A checkpoint, and its sealed bytes."""

    checkpoint: Checkpoint
    data: bytes


class Verified(Record):
    """A log and what it signed. `contradiction`: how the two differ, with a stable code, else
    empty; where they do nothing else is known. `size`: entries under the last checkpoint.
    `since`: those under the earlier one, -1 where none was given. `absent`: entries whose
    bytes a store lacks."""

    origin: str
    contradiction: str = ""
    size: int = 0
    entries: int = 0
    since: int = -1
    absent: tuple[Entry, ...] = ()


class Pinned(NamedTuple):
    """A log's name, and the keys that may sign for it."""

    origin: str
    pins: tuple[Pin, ...]


def append(log: Path, store: Path, digests: Sequence[str] = ()) -> tuple[Numbered, ...]:
    """List records in a log, which is made where there is none; those that are new in it.

    Without `digests`, every requirement and grade that was published in the store. Each is
    read from the store first. Raises InputError."""
    with (
        DirectoryStore.open(store) as kept,
        Log(log, origin="", create=True) as opened,
    ):
        wanted = list(digests) or [
            name.rpartition("-")[2] for kind in LOGGED for name in kept.names(kind)
        ]
        found = [(_kind(kept, digest), digest) for digest in wanted]
        size = len(opened.entries())
        places = [(opened.append(kind, digest), kind, digest) for kind, digest in found]
    return tuple(
        Numbered(index=index, kind=kind, digest=digest)
        for index, kind, digest in places
        if index >= size
    )


def checkpoint(log: Path, origin: str, key: Path) -> Signed:
    """Sign how a log stands. Raises InputError, also where what it signed last does not fit."""
    signer = Key.load(key)
    with Log(log, origin=origin) as opened:
        made = opened.checkpoint(signer)
    return Signed(checkpoint=made, data=sign_checkpoint(made, signer))


def verify_log(
    log: Path, keys: Sequence[str], *, since: Path | None = None, store: Path | None = None
) -> Verified:
    """Hold a log against its checkpoints, an earlier one, and a store that should hold what
    it lists. `keys`: NAME=KEY, the log's name and a public key. Raises InputError for what
    is no log, or signed by nobody pinned."""
    pinned = pinned_log(keys)
    earlier = kept_checkpoint(since, pinned)
    with Log(log, origin=pinned.origin) as opened:
        try:
            last = follow(opened, pinned.pins, earlier)
        except RecordRefused as refusal:
            return Verified(origin=pinned.origin, contradiction=contradiction(refusal))
        absent: tuple[Entry, ...] = ()
        if store is not None:
            with DirectoryStore.open(store) as kept:
                absent = opened.absent(kept)
        return Verified(
            origin=pinned.origin,
            size=last.size,
            entries=len(opened.entries()),
            since=-1 if earlier is None else earlier.size,
            absent=absent,
        )


def contradiction(refusal: RecordRefused) -> str:
    """The refusal in words, where it says that a log is not what it signed; any other is
    raised again."""
    if refusal.code not in CONTRADICTED:
        raise refusal
    return refusal.message


def pinned_log(keys: Sequence[str]) -> Pinned:
    """A log's name and keys, from NAME=KEY. Raises InputError."""
    pins: list[Pin] = []
    origins: set[str] = set()
    for text in keys:
        origin, _, key = text.rpartition("=")
        if not origin or not is_digest(key):
            raise InputError(
                place="--log-key",
                expected="NAME=KEY: the log's name, and 64 lower-case hexadecimal characters",
                got=ascii(text)[:200],
            )
        origins.add(origin)
        pins.append(Pin(key=PREFIX + key, role=ROLE))
    if len(origins) != 1:
        raise InputError(place="--log-key", expected="keys of one log", got=f"{len(origins)}")
    return Pinned(origins.pop(), tuple(pins))


def kept_checkpoint(file: Path | None, pinned: Pinned) -> Checkpoint | None:
    """A checkpoint that somebody kept, verified. Raises InputError."""
    if file is None:
        return None
    data = read_bytes(file, LIMITS.line_bytes)
    return open_checkpoint(data, pinned.pins, origin=pinned.origin, source=str(file))


def _kind(store: DirectoryStore, digest: str) -> str:
    kind = known(store.get(digest), source=digest).kind
    if kind not in LOGGED:
        raise InputError(file=digest, expected=" or ".join(LOGGED), got=kind)
    return kind
