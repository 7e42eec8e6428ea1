"""One file of a store: how it comes into place, and how it is opened again."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from cacheon.evidence.store.errors import StoreRefused
from cacheon.evidence.store.rooms import Rooms

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
APPEND = READ | os.O_RDWR | os.O_CREAT | os.O_APPEND
TMP = "tmp"


def publish(rooms: Rooms, room: str, name: str, data: bytes) -> bool:
    """Put a file of these bytes into place; False where the name is taken.

    1. Created under a name of its own in tmp. 2. Written and made durable. 3. Linked into
    place, which never replaces anything. 4. The name in tmp goes. 5. The directory is made
    durable. Whatever stops it leaves a file in tmp and, from step 3 on, the whole file in
    place. Raises OSError."""
    tmp, target = rooms.make(TMP), rooms.make(room)
    spare = f"{name}.{os.urandom(8).hex()}"
    descriptor = os.open(spare, _NEW, 0o444, dir_fd=tmp)
    try:
        try:
            write(descriptor, data)
            rooms.sync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(spare, name, src_dir_fd=tmp, dst_dir_fd=target, follow_symlinks=False)
            made = True
        except FileExistsError:
            made = False
    except BaseException:
        # What cannot be removed now is swept later; the first error is the one to tell.
        with contextlib.suppress(OSError):
            os.unlink(spare, dir_fd=tmp)
        raise
    os.unlink(spare, dir_fd=tmp)
    rooms.sync(target)
    return made


def write(descriptor: int, data: bytes) -> None:
    """Write all of it, however often the system takes less. Raises OSError."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


@contextlib.contextmanager
def reopened(rooms: Rooms, room: str, name: str, flags: int = READ) -> Iterator[int]:
    """A descriptor of a file in place: a regular file under this one name, reached through
    no link. Refused with `missing`, `not-a-file`, `hard-link`. Raises OSError."""
    descriptor = _opened(rooms, room, name, flags)
    try:
        _check(rooms, room, name, descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def read(descriptor: int, size: int, most: int) -> bytes:
    """All bytes of an open file, but no more than `most` + 1 of them. `size`: how many there
    were when it was looked at."""
    data = os.read(descriptor, min(size, most) + 1)
    # One more was asked for than was given: the end was seen.
    if len(data) == size:
        return data
    while len(data) <= most and (more := os.read(descriptor, most + 1 - len(data))):
        data += more
    return data


def read_file(rooms: Rooms, room: str, name: str, most: int) -> bytes:
    """The bytes of a file in place, read once. Refused as `reopened`, and with `too-large`
    beyond `most` bytes. Raises OSError."""
    # Not `reopened`: tens of thousands of records are read for one grade.
    descriptor = _opened(rooms, room, name, READ)
    try:
        data = read(descriptor, _check(rooms, room, name, descriptor), most)
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise _refused(rooms, "too-large", name, f"at most {most} bytes", "more")
    return data


def _opened(rooms: Rooms, room: str, name: str, flags: int) -> int:
    """A descriptor of what lies under the name, if it is no link, directory or socket."""
    try:
        return os.open(name, flags, 0o644, dir_fd=rooms.get(room))
    except OSError as error:
        place = _place(room, name)
        match error.errno:
            case errno.ENOENT | errno.ENAMETOOLONG:
                raise _refused(rooms, "missing", place, "a stored file", "none") from error
            case errno.ELOOP:
                raise _refused(rooms, "not-a-file", place, "a file", "a link") from error
            case errno.EISDIR:
                raise _refused(rooms, "not-a-file", place, "a file", "a directory") from error
            case errno.ENXIO:
                raise _refused(rooms, "not-a-file", place, "a file", "a socket") from error
        raise


def _check(rooms: Rooms, room: str, name: str, descriptor: int) -> int:
    """See that it is a regular file under one name; its size."""
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        expected, got = "a regular file", "another kind of file"
        raise _refused(rooms, "not-a-file", _place(room, name), expected, got)
    if info.st_nlink != 1 and not _alone(rooms, descriptor, info.st_ino):
        expected, got = "a file under one name", f"{info.st_nlink} names"
        raise _refused(rooms, "hard-link", _place(room, name), expected, got)
    return info.st_size


def _place(room: str, name: str) -> str:
    return f"{room}/{name}" if room else name


def _alone(rooms: Rooms, descriptor: int, inode: int) -> bool:
    """Whether a file has one name, those in tmp left out: a publisher that lives is between
    linking and unlinking, or one died there."""
    spares = 0
    # A store that came out of version control has no empty directories.
    with contextlib.suppress(FileNotFoundError), os.scandir(rooms.get(TMP)) as names:
        spares = sum(name.inode() == inode for name in names)
    # Asked after looking: a publisher may unlink its name in between, but links no other.
    return os.fstat(descriptor).st_nlink <= 1 + spares


def _refused(rooms: Rooms, code: str, place: str, expected: str, got: str) -> StoreRefused:
    return StoreRefused(code, file=str(rooms.root), place=place, expected=expected, got=got)
