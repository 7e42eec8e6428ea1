"""The health of a directory store: every file looked at, every blob hashed again."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cacheon.evidence.store.directory import DirectoryStore
from cacheon.evidence.store.errors import StoreRefused, failing
from cacheon.evidence.store.files import TMP, read_file
from cacheon.evidence.store.layout import BLOBS, OWN, POINTERS, is_kind, is_name, unfinished
from cacheon.evidence.store.port import References
from cacheon.evidence.store.reach import reach
from cacheon.records.digest import is_digest, sha256
from cacheon.records.strict import Record

_INDEX = "index.sqlite"
_NAMELESS = frozenset(["blobs", "bytes", "unfinished"])
"""Fields of `Health` that name nothing."""
_GUESTS = frozenset(["log", *(_INDEX + end for end in ("", "-journal", "-wal", "-shm"))])
"""Kept in the store's directory by modules that look after them themselves."""


class Health(Record):
    """Paths below the root, or digests. `orphans` and `leftovers` are what interrupted
    publishers leave: they are swept, and the store is sound with them."""

    blobs: int = 0
    bytes: int = 0
    corrupt: tuple[str, ...] = ()
    """Blobs that are not what their digests name."""
    truncated: tuple[str, ...] = ()
    """Those of them that are empty or end without a closing brace, as no record does."""
    oversize: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Symbolic links, and files with a second name."""
    foreign: tuple[str, ...] = ()
    """What no publisher puts there: other names, directories, FIFOs."""
    pointers: tuple[str, ...] = ()
    """Pointers that do not hold one digest."""
    missing: tuple[str, ...] = ()
    """What is reached from a pointer and is not there."""
    unread: tuple[str, ...] = ()
    """What is reached from a pointer and cannot be followed further."""
    orphans: tuple[str, ...] = ()
    """Sound blobs that no pointer reaches; not told where something reached is damaged."""
    leftovers: tuple[str, ...] = ()
    unfinished: bool = False
    """Whether the making of the store was interrupted before anything could be stored."""

    @property
    def sound(self) -> bool:
        return not (
            self.corrupt
            or self.truncated
            or self.oversize
            or self.links
            or self.foreign
            or self.pointers
            or self.missing
            or self.unread
        )


def fsck_directory(path: Path, references: References) -> Health:
    """`fsck` of the store in `path`. Where the making of one stopped before there was any,
    nothing was lost: that is sound, too. Refused with `not-a-store`; raises StoreFailed."""
    # Asked first: a publisher may finish it meanwhile, and never unmakes a store.
    with failing(path):
        if unfinished(path):
            return Health(unfinished=True)
    with DirectoryStore.open(path) as store:
        return fsck(store, references)


def fsck(store: DirectoryStore, references: References) -> Health:
    """Look at everything below the root, through no link, and change nothing.

    1. The root's own names. 2. Every blob, read within the limit and hashed. 3. Every
    pointer. 4. tmp. 5. What the pointers reach. Publishers may go on meanwhile. Raises
    StoreFailed where the file system does; whether an unsound store is an error is the
    caller's to say."""
    with failing(store.rooms.root):
        walk = _Walk(store)
        walk.root()
        walk.blobs()
        walk.pointers()
        walk.tmp()
    reached = reach(store, references)
    bad = {digest for field in ("corrupt", "truncated", "oversize") for digest in walk.seen[field]}
    missing = {digest for digest in reached.broken if not _there(store, digest)}
    if reached.whole:
        walk.seen["orphans"] += [blob for blob in walk.sound if blob not in reached.reached]
    walk.seen["pointers"] += reached.pointers
    walk.seen["missing"] += missing
    walk.seen["unread"] += set(reached.broken) - missing - bad
    named: dict[str, Any] = {field: tuple(sorted(names)) for field, names in walk.seen.items()}
    return Health(blobs=len(walk.sound), bytes=walk.bytes, **named)


class _Walk:
    """One walk over the directories, and what it came upon, by field of `Health`."""

    def __init__(self, store: DirectoryStore) -> None:
        self.store, self.rooms = store, store.rooms
        self.seen: dict[str, list[str]] = {
            name: [] for name in Health.__struct_fields__ if name not in _NAMELESS
        }
        self.sound: list[str] = []
        self.bytes = 0

    def root(self) -> None:
        for name, info in self._entries(""):
            kind = stat.S_ISREG if name == "format" else stat.S_ISDIR
            if name not in _GUESTS or stat.S_ISLNK(info.st_mode):
                self._misplaced(name, info, kind, name in OWN)

    def blobs(self) -> None:
        for prefix, info in self._entries(BLOBS):
            room = f"{BLOBS}/{prefix}"
            named = re.fullmatch("[0-9a-f]{2}", prefix) is not None
            if not self._misplaced(room, info, stat.S_ISDIR, named):
                for name, below in self._entries(room):
                    named = is_digest(name) and name.startswith(prefix)
                    if not self._misplaced(f"{room}/{name}", below, stat.S_ISREG, named):
                        self._blob(room, name)

    def _blob(self, room: str, digest: str) -> None:
        try:
            data = read_file(self.rooms, room, digest, self.store.limits.record_bytes)
        except StoreRefused as error:
            fields = {"too-large": "oversize", "hard-link": "links", "not-a-file": "foreign"}
            # Else it is gone: a sweep runs at the same time.
            if error.code in fields:
                self.seen[fields[error.code]].append(digest)
            return
        if sha256(data) == digest:
            self.sound.append(digest)
            self.bytes += len(data)
        else:
            self.seen["corrupt" if data.endswith(b"}") else "truncated"].append(digest)

    def pointers(self) -> None:
        """What they hold is read where they are followed."""
        for kind, info in self._entries(POINTERS):
            room = f"{POINTERS}/{kind}"
            if not self._misplaced(room, info, stat.S_ISDIR, is_kind(kind)):
                for name, below in self._entries(room):
                    self._misplaced(f"{room}/{name}", below, stat.S_ISREG, is_name(name))

    def tmp(self) -> None:
        for name, info in self._entries(TMP):
            if not self._misplaced(f"{TMP}/{name}", info, stat.S_ISREG, True):
                self.seen["leftovers"].append(name)

    def _misplaced(
        self, place: str, info: os.stat_result, kind: Callable[[int], bool], named: bool
    ) -> bool:
        if stat.S_ISLNK(info.st_mode):
            self.seen["links"].append(place)
        elif not kind(info.st_mode) or not named:
            self.seen["foreign"].append(place)
        else:
            return False
        return True

    def _entries(self, room: str) -> Iterator[tuple[str, os.stat_result]]:
        """Names and what they are, through no link. A directory that is missing is empty:
        version control keeps no empty ones."""
        try:
            descriptor = self.rooms.get(room)
        except (FileNotFoundError, StoreRefused):  # the latter was seen in the root
            return
        for name in sorted(os.listdir(descriptor)):
            try:
                yield name, os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:  # published or swept meanwhile
                continue


def _there(store: DirectoryStore, digest: str) -> bool:
    try:
        return store.has(digest)
    except StoreRefused:  # a reference that is no digest, or leads through a link
        return False
