"""The store in a local directory.

DIR/format                    which layout this is
DIR/blobs/ab/<64 hex>         the bytes that the digest names
DIR/pointers/<kind>/<name>    one digest and a line feed
DIR/tmp/                      what is being written; leftovers are swept
DIR/log/, DIR/index.sqlite    other modules' (evidence.log, evidence.store.index)
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from cacheon.evidence.closing import Closing
from cacheon.evidence.store.errors import PointerTaken, StoreFailed, StoreRefused, failing
from cacheon.evidence.store.files import TMP, publish, read, read_file, reopened
from cacheon.evidence.store.layout import (
    BLOBS,
    POINTERS,
    blob_room,
    check_format,
    is_kind,
    is_name,
    make_root,
)
from cacheon.evidence.store.limits import LIMITS, Limits
from cacheon.evidence.store.rooms import Rooms
from cacheon.records.digest import is_digest, sha256

_POINTER = 65


class DirectoryStore(Closing):
    """A `port.Store` whose root belongs to one user; several processes may use it at once,
    each thread through a store object of its own. Close it, or use it in a `with`."""

    def __init__(self, rooms: Rooms, limits: Limits) -> None:
        """Use `open`."""
        self.rooms, self._limits = rooms, limits
        self._bytes: int | None = None

    @classmethod
    def open(
        cls, path: Path, *, create: bool = False, fsync: bool = True, limits: Limits = LIMITS
    ) -> Self:
        """The store in `path`; with `create`, made there where nothing is yet.

        Without `fsync` nothing is durable before the system writes it: for measuring.
        Refused with `not-a-store`; raises StoreFailed."""
        with failing(path):
            if create:
                make_root(path, fsync=fsync)
            rooms = Rooms(path, fsync=fsync)
            try:
                check_format(rooms, create=create)
            except BaseException:
                rooms.close()
                raise
        return cls(rooms, limits)

    @property
    def limits(self) -> Limits:
        return self._limits

    def close(self) -> None:
        self.rooms.close()

    def put(self, data: bytes) -> str:
        """`port.Store.put`."""
        most = self._limits.record_bytes
        if len(data) > most:
            raise self._refused("too-large", "", f"at most {most} bytes", f"{len(data)}")
        digest = sha256(data)
        room = blob_room(digest)
        with self.locked(fcntl.LOCK_SH):
            self.rooms.make(room)
            if not self._kept(room, digest, data):
                held = self._held()
                if held + len(data) > self._limits.total_bytes:
                    quota = f"at most {self._limits.total_bytes} bytes in all"
                    raise self._refused("quota", digest, quota, f"{held + len(data)}")
                # Where another wrote it meanwhile, what it wrote is compared.
                if publish(self.rooms, room, digest, data):
                    self._bytes = held + len(data)
                else:
                    self._kept(room, digest, data)
        return digest

    def get(self, digest: str, limit: int | None = None) -> bytes:
        """`port.Store.get`."""
        self._check_digest(digest)
        most = self._limits.record_bytes if limit is None else limit
        try:
            data = read_file(self.rooms, blob_room(digest), digest, most)
        except OSError as error:
            raise StoreFailed(error, str(self.rooms.root)) from error
        if sha256(data) != digest:
            raise self._refused("corrupt", digest, "the bytes of this digest", "others")
        return data

    def has(self, digest: str) -> bool:
        """`port.Store.has`."""
        self._check_digest(digest)
        with failing(self.rooms.root):
            try:
                os.stat(digest, dir_fd=self.rooms.get(blob_room(digest)), follow_symlinks=False)
            except FileNotFoundError:
                return False
        return True

    def digests(self) -> Iterator[str]:
        """`port.Store.digests`."""
        with failing(self.rooms.root):
            for prefix in self._names(BLOBS):
                if re.fullmatch("[0-9a-f]{2}", prefix):
                    for name in self._names(f"{BLOBS}/{prefix}"):
                        if is_digest(name) and name.startswith(prefix):
                            yield name

    def link(self, kind: str, name: str, digest: str) -> bool:
        """`port.Store.link`."""
        room = self._pointer_room(kind, name)
        with self.locked(fcntl.LOCK_SH):
            if not self.has(digest):
                raise self._refused("dangling", digest, "a stored record", "none")
            if publish(self.rooms, room, name, f"{digest}\n".encode()):
                return True
            there = self._pointed(room, name)
            if there != digest:
                raise PointerTaken(str(self.rooms.root), f"{room}/{name}", digest, there)
        return False

    def pointer(self, kind: str, name: str) -> str | None:
        """`port.Store.pointer`."""
        room = self._pointer_room(kind, name)
        with failing(self.rooms.root):
            try:
                return self._pointed(room, name)
            except StoreRefused as error:
                if error.code != "missing":
                    raise
        return None

    def names(self, kind: str) -> Iterator[str]:
        """`port.Store.names`."""
        room = self._pointer_room(kind)
        with failing(self.rooms.root):
            yield from (name for name in self._names(room) if is_name(name))

    def kinds(self) -> Iterator[str]:
        """`port.Store.kinds`."""
        with failing(self.rooms.root):
            yield from (name for name in self._names(POINTERS) if is_kind(name))

    @contextlib.contextmanager
    def locked(self, how: int) -> Iterator[None]:
        """Publishers share the lock of tmp, a sweep has it alone. Errors of the system
        become StoreFailed."""
        with failing(self.rooms.root):
            tmp = self.rooms.make(TMP)
            fcntl.flock(tmp, how)
            try:
                yield
            finally:
                fcntl.flock(tmp, fcntl.LOCK_UN)

    def recount(self) -> None:
        """Count the bytes anew before the next `put`: something was removed."""
        self._bytes = None

    def _kept(self, room: str, digest: str, data: bytes) -> bool:
        """Whether the bytes are in place; then they are made durable, since whoever put
        them there may have died first, and young again, lest they be swept now."""
        try:
            with reopened(self.rooms, room, digest) as descriptor:
                if read(descriptor, len(data), len(data)) != data:
                    raise self._refused("corrupt", digest, "the bytes of this digest", "others")
                os.utime(descriptor)
                self.rooms.sync(descriptor)
        except StoreRefused as error:
            if error.code != "missing":
                raise
            return False
        self.rooms.sync(self.rooms.get(room))
        return True

    def _pointed(self, room: str, name: str) -> str:
        data = read_file(self.rooms, room, name, _POINTER)
        digest = data[:-1].decode("ascii", "replace")
        if data[-1:] != b"\n" or not is_digest(digest):
            raise self._refused("pointer", f"{room}/{name}", "one digest", "something else")
        return digest

    def _pointer_room(self, kind: str, name: str | None = None) -> str:
        if not is_kind(kind):
            raise self._refused("not-a-name", "", "a kind in lower-case letters", ascii(kind)[:80])
        if name is not None and not is_name(name):
            raise self._refused("not-a-name", "", "one to three digests", ascii(name)[:80])
        return f"{POINTERS}/{kind}"

    def _check_digest(self, digest: str) -> None:
        if not is_digest(digest):
            raise self._refused("not-a-digest", "", "64 lower-case hex", ascii(digest)[:80])

    def _names(self, room: str) -> list[str]:
        try:
            return sorted(os.listdir(self.rooms.get(room)))
        except FileNotFoundError:
            return []

    def _held(self) -> int:
        """Bytes of all blobs: counted once, then kept up with."""
        if self._bytes is None:
            self._bytes = sum(
                os.stat(
                    digest, dir_fd=self.rooms.get(blob_room(digest)), follow_symlinks=False
                ).st_size
                for digest in self.digests()
            )
        return self._bytes

    def _refused(self, code: str, place: str, expected: str, got: str) -> StoreRefused:
        return StoreRefused(
            code, file=str(self.rooms.root), place=place, expected=expected, got=got
        )
