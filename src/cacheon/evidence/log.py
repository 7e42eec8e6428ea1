"""An append-only log of what was published, so that what is deleted or forked is seen.

Entries are the leaves of a hash tree (`evidence.merkle`); a signed checkpoint says how many
there were and what their root was (`evidence.checkpoint`, which has the codes). Whoever
keeps a checkpoint can later ask for the proof that the log still begins with what it had.

    DIR/entries        one canonical entry a line
    DIR/checkpoints    one sealed checkpoint a line

The log lists digests and holds no evidence: append to it what is published already.
"""

import contextlib
import fcntl
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from cacheon.evidence import merkle
from cacheon.evidence.checkpoint import (
    ROLE,
    Checkpoint,
    Consistency,
    Entry,
    Inclusion,
    entry,
    leaf,
    open_checkpoint,
    sign_checkpoint,
)
from cacheon.evidence.closing import Closing
from cacheon.evidence.envelope import Pin
from cacheon.evidence.keys import Key
from cacheon.evidence.store.errors import StoreRefused, failing
from cacheon.evidence.store.layout import make_root
from cacheon.evidence.store.limits import LIMITS
from cacheon.evidence.store.lines import Lines
from cacheon.evidence.store.port import Store
from cacheon.evidence.store.rooms import Rooms
from cacheon.records.canonical import decode, encode
from cacheon.records.errors import RecordRefused


class Log(Closing):
    """The log named `origin` in a directory. Several processes may append at once, each
    through an object of its own. Close it, or use it in a `with`.

    Every call raises RecordRefused or StoreRefused for a log that is damaged, StoreFailed
    where the file system fails; every call may be repeated."""

    def __init__(self, path: Path, *, origin: str, create: bool = False, fsync: bool = True):
        with failing(path):
            if create:
                make_root(path, fsync=fsync)
            self._rooms = Rooms(path, fsync=fsync)
        self.origin = origin
        self._entry_lines = Lines(self._rooms, "entries")
        self._checkpoint_lines = Lines(self._rooms, "checkpoints")
        self._entries: list[Entry] = []
        self._leaves: list[bytes] = []
        self._index: dict[tuple[str, str], int] = {}

    def close(self) -> None:
        self._rooms.close()

    def append(self, kind: str, digest: str) -> int:
        """The index of the entry: a new one, or the one that it has. Durable on return."""
        new = entry(kind, digest)
        with self._alone():
            self._refresh()
            index = self._index.get((kind, digest))
            if index is not None:
                self._entry_lines.sync()
                return index
            self._entry_lines.append(encode(new))
            self._refresh()
        return len(self._entries) - 1

    @property
    def path(self) -> str:
        return str(self._rooms.root)

    def entries(self) -> tuple[Entry, ...]:
        """All entries, oldest first."""
        self._refresh()
        return tuple(self._entries)

    def checkpoint(self, key: Key, *, pins: Iterable[Pin] = ()) -> Checkpoint:
        """Sign and keep how the log stands; where the last checkpoint says the same, that.

        `pins` are the keys of older checkpoints, where they were others. A history that
        the last checkpoint does not fit is not signed."""
        with self._alone():
            self._reread()
            trusted = [*pins, Pin(key=key.public, role=ROLE)]
            last = [self._open(line, trusted) for line in self._signed()[-1:]]
            self._compare(last)
            new = Checkpoint(
                schema="cacheon/checkpoint/1",
                origin=self.origin,
                size=len(self._leaves),
                root=merkle.root(self._leaves).hex(),
            )
            if last == [new]:
                self._checkpoint_lines.sync()
            else:
                self._checkpoint_lines.append(sign_checkpoint(new, key))
        return new

    def check(
        self, pins: Iterable[Pin], *, kept: Iterable[Checkpoint] = ()
    ) -> tuple[Checkpoint, ...]:
        """Every checkpoint, oldest first, once all of the log was seen to fit them.

        1. Everything is read again. 2. Each is of this log and signed by a key pinned in
        the role `log`. 3. None counts fewer entries than the one before. 4. For each of
        them, and for those that the caller kept elsewhere, the entries are there and their
        root is the same. A log that was deleted, cut or forked and signed anew is seen by
        whoever kept a checkpoint, and by nobody else."""
        # Entries last: what is appended and signed meanwhile must not look as if it were gone.
        lines = self._signed()
        self._reread()
        pinned = list(pins)
        found = tuple(self._open(line, pinned) for line in lines)
        for before, after in pairwise(found):
            if after.size < before.size:
                raise self._refused("log-order", f"{before.size} entries or more", f"{after.size}")
        self._compare([*found, *kept])
        return found

    def absent(self, store: Store) -> tuple[Entry, ...]:
        """Entries whose bytes the store lacks, whatever lies in their place: evidence that was
        deleted. Raises StoreFailed where the file system does."""
        return tuple(entry for entry in self.entries() if not _holds(store, entry.digest))

    def inclusion(self, index: int, checkpoint: Checkpoint) -> Inclusion:
        """The proof that the entry at `index` is one of the checkpoint's."""
        self._refresh()
        if not 0 <= index < checkpoint.size <= len(self._leaves):
            raise self._refused(
                "log-proof", f"an entry below {checkpoint.size}", f"{index} of {len(self._leaves)}"
            )
        path = merkle.inclusion(self._leaves[: checkpoint.size], index)
        return Inclusion(
            schema="cacheon/inclusion/1",
            index=index,
            size=checkpoint.size,
            path=tuple(step.hex() for step in path),
        )

    def consistency(self, earlier: Checkpoint, later: Checkpoint) -> Consistency:
        """The proof that the log of `later` begins with that of `earlier`."""
        self._refresh()
        if not earlier.size <= later.size <= len(self._leaves):
            raise self._refused(
                "log-proof", f"{earlier.size} entries to {later.size}", f"{len(self._leaves)}"
            )
        path = merkle.consistency(self._leaves[: later.size], earlier.size) if earlier.size else ()
        return Consistency(
            schema="cacheon/consistency/1",
            first=earlier.size,
            second=later.size,
            path=tuple(step.hex() for step in path),
        )

    def _open(self, line: bytes, pins: list[Pin]) -> Checkpoint:
        return open_checkpoint(line, pins, origin=self.origin, source=self._source("checkpoints"))

    def _compare(self, checkpoints: list[Checkpoint]) -> None:
        frontier = merkle.Frontier()
        roots = {0: merkle.EMPTY.hex()}
        sizes = {checkpoint.size for checkpoint in checkpoints}
        for hashed in self._leaves:
            frontier.add(hashed)
            if frontier.size in sizes:
                roots[frontier.size] = frontier.root().hex()
        for checkpoint in checkpoints:
            if checkpoint.origin != self.origin:
                raise self._refused("log-origin", self.origin, checkpoint.origin)
        most = max(sizes, default=0)
        if most > len(self._leaves):
            raise self._refused("log-shrunk", f"{most} entries or more", f"{len(self._leaves)}")
        for checkpoint in checkpoints:
            if checkpoint.root != roots[checkpoint.size]:
                raise self._refused(
                    "log-forked", f"root {checkpoint.root}", f"{roots[checkpoint.size]}"
                )

    def _signed(self) -> list[bytes]:
        """The lines of all checkpoints, read anew."""
        self._checkpoint_lines.end = 0
        return self._checkpoint_lines.read()

    def _reread(self) -> None:
        self._entry_lines.end = 0
        self._entries, self._leaves, self._index = [], [], {}
        self._refresh()

    def _refresh(self) -> None:
        """Read what was appended since, by whomever."""
        for line in self._entry_lines.read():
            new = decode(line, Entry, limit=LIMITS.line_bytes, source=self._source("entries"))
            self._index.setdefault((new.kind, new.digest), len(self._entries))
            self._entries.append(new)
            self._leaves.append(leaf(new))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time."""
        room = self._rooms.get("")
        with failing(self._rooms.root):
            fcntl.flock(room, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(room, fcntl.LOCK_UN)

    def _source(self, name: str) -> str:
        return str(self._rooms.root / name)

    def _refused(self, code: str, expected: str, got: str) -> RecordRefused:
        return RecordRefused(code, file=self.path, expected=expected, got=got)


def _holds(store: Store, digest: str) -> bool:
    """Whether the bytes themselves are there: a file of that name is soon made."""
    try:
        store.get(digest)
    except StoreRefused:
        return False
    return True
