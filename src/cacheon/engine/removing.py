"""Directories that a candidate could write to, removed whatever it has made of them."""

import contextlib
import os
import secrets
import time

_LONGEST = 60.0
"""Seconds: whoever still writes there is not waited for."""
_FIND = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(directory: str | os.PathLike[str]) -> None:
    """Remove a directory and what lies below it, as far as that can be done; raises nothing.

    No link is followed, no mode keeps anything, and no depth does: what lies in a directory
    is lifted to the top before it goes itself, so that neither a path nor a chain of calls
    grows with the depth."""
    with contextlib.suppress(OSError):
        top = _opened(os.fspath(directory), None)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(directory)
    # Something else may stand in its place.
    with contextlib.suppress(OSError):
        os.unlink(directory)


def _empty(top: int) -> None:
    """Raises OSError where nothing can be opened any more."""
    deadline, lifted = time.monotonic() + _LONGEST, 0
    name = secrets.token_hex(8)
    stays: set[str] = set()
    while left := set(os.listdir(top)) - stays:
        if time.monotonic() > deadline:
            return
        for each in left:
            if _unlinked(each, top):
                continue
            try:
                inner = _opened(each, top)
            except OSError:
                stays.add(each)
                continue
            try:
                for child in os.listdir(inner):
                    if not _unlinked(child, inner):
                        _lift(child, inner, f"{name}-{lifted}", top)
                        lifted += 1
            finally:
                os.close(inner)
            try:
                os.rmdir(each, dir_fd=top)
            except OSError:
                stays.add(each)


def _unlinked(name: str, parent: int) -> bool:
    """Whether it was no directory, and is gone."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _lift(name: str, parent: int, new: str, top: int) -> None:
    # Who moves a directory must be allowed to write to it.
    with contextlib.suppress(OSError):
        os.close(_opened(name, parent))
        os.rename(name, new, src_dir_fd=parent, dst_dir_fd=top)


def _opened(name: str, parent: int | None) -> int:
    """A descriptor of a directory, which its owner may list and write to from now on.
    Raises OSError."""
    found = os.open(name, _FIND, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
        return os.open(".", _LIST, dir_fd=found)
    finally:
        os.close(found)
