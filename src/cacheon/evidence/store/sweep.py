"""Removing what interrupted publishers left."""

import fcntl
import os
import stat
import time

from cacheon.evidence.store.directory import DirectoryStore
from cacheon.evidence.store.errors import StoreRefused
from cacheon.evidence.store.files import TMP
from cacheon.evidence.store.layout import blob_room
from cacheon.evidence.store.port import References
from cacheon.evidence.store.reach import reach
from cacheon.records.strict import Record


class Swept(Record):
    """What was removed, or would have been: names in tmp, digests, and the bytes of both."""

    leftovers: tuple[str, ...]
    orphans: tuple[str, ...]
    bytes: int


def sweep(
    store: DirectoryStore, references: References, *, older_than: float, dry_run: bool = False
) -> Swept:
    """Remove leftovers and blobs that no pointer reaches, where they are older than
    `older_than` seconds: longer than any publisher takes from its first blob to its pointer.

    1. No publisher is inside a call meanwhile. 2. Old leftovers in tmp go. 3. All pointers
    are followed; where something reached is damaged, what it named is unknown, and the
    sweep ends: refused with `damaged`. 4. Old blobs that are not reached go; one that was
    published again is young again. With `dry_run` what would go stays. Raises
    StoreFailed."""
    before = time.time() - older_than
    with store.locked(fcntl.LOCK_EX):
        leftovers = {
            name: size
            for name in os.listdir(store.rooms.get(TMP))
            if (size := _remove(store, TMP, name, before, dry_run)) is not None
        }
        reached = reach(store, references)
        if not reached.whole:
            place, why = next(iter({**reached.pointers, **reached.broken}.items()))
            raise StoreRefused(
                "damaged",
                file=str(store.rooms.root),
                place=place,
                expected="everything reached to be sound",
                got=why,
            )
        orphans = {
            digest: size
            for digest in store.digests()
            if digest not in reached.reached
            and (size := _remove(store, blob_room(digest), digest, before, dry_run)) is not None
        }
        store.recount()
    return Swept(
        leftovers=tuple(sorted(leftovers)),
        orphans=tuple(sorted(orphans)),
        bytes=sum(leftovers.values()) + sum(orphans.values()),
    )


def _remove(
    store: DirectoryStore, room: str, name: str, before: float, dry_run: bool
) -> int | None:
    """The bytes of the file, removed; None where it is younger or no regular file."""
    descriptor = store.rooms.get(room)
    info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode) or info.st_mtime > before:
        return None
    if not dry_run:
        os.unlink(name, dir_fd=descriptor)
    return info.st_size
