"""The directories of a store, held open: a directory that is swapped later leads nowhere."""

import contextlib
import errno
import os
import weakref
from pathlib import Path

from cacheon.evidence.store.errors import StoreRefused

_NO_ROOT = {
    errno.ENOENT: "none",
    errno.ENOTDIR: "a file",
    errno.ELOOP: "a link that leads nowhere",
    errno.ENAMETOOLONG: "a name that is too long",
}
"""What of a root is its path's fault, and no machine's."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Rooms:
    """Descriptors of the directories below `root`, by relative name; "" is the root.

    Each is opened in the one before and none through a link (the root itself may be one:
    it is its owner's). Raises OSError as the system does, and StoreRefused:
    `not-a-store` where there is no root, `not-a-directory` for a link or a file in a
    directory's place; ValueError after `close`, as a file does."""

    def __init__(self, root: Path, *, fsync: bool) -> None:
        self.root = root
        self.fsync = fsync
        try:
            self._open = {"": os.open(root, _DIRECTORY)}
        except OSError as error:
            raise rootless(root, error) from error
        self._durable = {""}
        self.close = weakref.finalize(self, _close, self._open)

    def get(self, name: str) -> int:
        """The descriptor of a directory that exists."""
        if name not in self._open:
            if not self._open:
                raise ValueError(f"{self.root}: it was closed, and cannot be used any more")
            above, _, last = name.rpartition("/")
            room = self.get(above)
            try:
                self._open[name] = os.open(last, _DIRECTORY | os.O_NOFOLLOW, dir_fd=room)
            except NotADirectoryError as error:  # what Linux says of a link, too
                raise StoreRefused(
                    "not-a-directory",
                    file=str(self.root),
                    place=name,
                    expected="a directory of the store",
                    got="a link or a file",
                ) from error
        return self._open[name]

    def make(self, name: str) -> int:
        """The descriptor of a directory, made where it is missing, its name durable."""
        if name not in self._durable:
            above, _, last = name.rpartition("/")
            room = self.make(above)
            # Where it exists, whoever made it may have died before the next line.
            with contextlib.suppress(FileExistsError):
                os.mkdir(last, dir_fd=room)
            self.sync(room)
            self.get(name)
            self._durable.add(name)
        return self.get(name)

    def sync(self, descriptor: int) -> None:
        """Make what was written to a file or a directory durable."""
        if self.fsync:
            os.fsync(descriptor)


def rootless(root: Path, error: OSError) -> OSError | StoreRefused:
    """What to raise where the root cannot be opened or made: a path that is to blame is
    refused, anything else is the system's error as it stands."""
    if error.errno not in _NO_ROOT:
        return error
    return StoreRefused(
        "not-a-store", file=str(root), expected="a directory", got=_NO_ROOT[error.errno]
    )


def _close(opened: dict[str, int]) -> None:
    while opened:
        # Nothing was written through them: there is nothing to lose by an error.
        with contextlib.suppress(OSError):
            os.close(opened.popitem()[1])
