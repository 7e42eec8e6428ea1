"""The root of a directory store: how it comes to be, and how it is known again."""

import os
import re
from pathlib import Path

from cacheon.evidence.store.errors import StoreRefused
from cacheon.evidence.store.files import TMP, publish, read_file
from cacheon.evidence.store.rooms import Rooms, rootless

FORMAT = b"cacheon-store/1\n"
BLOBS, POINTERS = "blobs", "pointers"
OWN = frozenset(["format", BLOBS, POINTERS, TMP])
_KIND = re.compile(r"\A[a-z]{1,32}\Z")
_SPARE = re.compile(r"\Aformat\.[0-9a-f]{16}\Z")
_NAME = re.compile(r"\A[0-9a-f]{64}(-[0-9a-f]{64}){0,2}\Z")


def blob_room(digest: str) -> str:
    """The directory of a blob, relative to the root."""
    return f"{BLOBS}/{digest[:2]}"


def is_kind(name: str) -> bool:
    """Whether pointers may be of this kind."""
    return _KIND.match(name) is not None


def is_name(name: str) -> bool:
    """Whether a pointer may have this name."""
    return _NAME.match(name) is not None


def make_root(root: Path, *, fsync: bool) -> None:
    """Make the directory and its parents where they are missing, their names durable.
    Refused with `not-a-store`; raises OSError."""
    fresh = [path for path in (root, *root.parents) if not os.path.exists(path)]
    for path in reversed(fresh):
        try:
            path.mkdir()
        except FileExistsError:
            # Made meanwhile, or a link that leads nowhere: whoever opens the root says so.
            continue
        except OSError as error:
            raise rootless(root, error) from error
    if fsync:
        # The root's own name always: whoever made it may have died before this.
        for path in {root, *fresh}:
            descriptor = os.open(path.absolute().parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def check_format(rooms: Rooms, *, create: bool) -> None:
    """See that this is a store; with `create`, make it one where nothing else lies there.

    The file `format` comes first, whole and at once (`files.publish`): a directory is a store,
    or `unfinished`, and then the next call goes on from wherever the last one stopped.
    Refused with `not-a-store`; raises OSError."""
    try:
        said = read_file(rooms, "", "format", len(FORMAT))
    except StoreRefused as error:
        if error.code != "missing":
            raise
        strange = sorted(set(os.listdir(rooms.get(""))) - OWN)
        if not create or strange:
            raise _no_store(rooms, f"without it: {strange[0]}" if strange else "none") from error
        publish(rooms, "", "format", FORMAT)
        for room in (BLOBS, POINTERS):
            rooms.make(room)
    else:
        if said != FORMAT:
            raise _no_store(rooms, ascii(said))


def unfinished(root: Path) -> bool:
    """Whether the making of a store stopped here before there was one: an empty directory, or
    one that holds no more than copies of `format` that never came into place.

    Nothing was ever stored in it, since nothing is before `format` is in place. Refused as
    `Rooms`; raises OSError."""
    rooms = Rooms(root, fsync=False)
    try:
        names = os.listdir(rooms.get(""))
        spares = os.listdir(rooms.get(TMP)) if names == [TMP] else []
        return names in ([], [TMP]) and all(_SPARE.match(spare) for spare in spares)
    finally:
        rooms.close()


def _no_store(rooms: Rooms, got: str) -> StoreRefused:
    expected = f"a file `format` that says {FORMAT.decode().strip()}"
    return StoreRefused("not-a-store", file=str(rooms.root), expected=expected, got=got)
