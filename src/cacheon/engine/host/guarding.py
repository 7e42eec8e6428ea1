"""What a candidate must leave as it is: its snapshot, the control that it is held against, and
the limits of this process."""

import contextlib
import errno
import hashlib
import os
import resource
import stat
from pathlib import Path

from cacheon.bundle.tree import MOST_BYTES, MOST_FILES

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OF_A_TREE = frozenset(
    getattr(errno, name)
    for name in ("ENOENT", "ENOTDIR", "EACCES", "EPERM", "ENAMETOOLONG", "ELOOP", "ENXIO")
)
"""What whoever made a tree can make of a name in it."""
_KINDS = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))

_BYTECODE = "__pycache__"

Limits = dict[int, tuple[int, int]]
Fingerprint = frozenset[tuple[str, int, str]]
Noted = dict[Path, Fingerprint]
"""What trees were when they were first seen."""


class Guard:
    """Takes note of them, and says later what was changed. Trees that are `noted` must be what
    they were then: another variant of the bundle may have been there before."""

    def __init__(self, root: Path, control: Path | None = None, noted: Noted | None = None) -> None:
        self._limits = limits()
        self.root, self.control = root, control
        noted = {} if noted is None else noted
        if root not in noted:
            noted[root] = fingerprint(root)
        if control is not None and control not in noted:
            noted[control] = self._of_the_control()
        self._snapshot = noted[root]
        self._control = frozenset() if control is None else noted[control]

    def changed(self) -> str:
        """What is not as it was; empty where everything is. Limits of this process are
        set back, where they can be."""
        if limits() != self._limits:
            for kind, pair in self._limits.items():
                # A hard limit is lowered for good where nobody has CAP_SYS_RESOURCE.
                with contextlib.suppress(OSError, ValueError):
                    resource.setrlimit(kind, pair)
            return "the limits of the host's process were changed"
        if fingerprint(self.root) != self._snapshot:
            return "the snapshot was changed"
        if not self.control_stands():
            return "the control was changed"
        return ""

    def control_stands(self) -> bool:
        """Whether the control is what it was when it was first seen."""
        return self._of_the_control() == self._control

    def _of_the_control(self) -> Fingerprint:
        """It is shipped with the package: an installer may compile it at any time, and the
        harness loads nothing of that."""
        if self.control is None:
            return frozenset()
        return frozenset(
            each for each in fingerprint(self.control) if _BYTECODE not in each[0].split(os.sep)
        )


def limits() -> Limits:
    """Soft and hard limits of this process, by kind. A process of the same user sets them."""
    return {kind: resource.getrlimit(kind) for kind in _KINDS}


def fingerprint(root: Path) -> Fingerprint:
    """Everything below a directory, itself included: path, mode, SHA-256 of what a file
    holds or a word where it is not read. No link is followed; past the bounds of a bundle
    nothing more is looked at. Raises OSError where this process cannot go on."""
    seen: set[tuple[str, int, str]] = set()
    waiting, left = [""], MOST_BYTES
    while waiting and len(seen) <= MOST_FILES:
        name = waiting.pop()
        path = os.path.join(root, name)
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISDIR(mode):
                waiting += (os.path.join(name, child) for child in os.listdir(path))
                seen.add((name, mode, ""))
            elif stat.S_ISREG(mode):
                data = _read(path, left)
                left -= len(data)
                said = hashlib.sha256(data).hexdigest() if left > 0 else "too large"
                seen.add((name, mode, said))
            else:
                seen.add((name, mode, "special"))
        except OSError as error:
            if error.errno not in _OF_A_TREE:
                raise
            # A path may be longer than any call takes.
            seen.add((name, 0, type(error).__name__))
    return frozenset(seen)


def _read(path: str, most: int) -> bytes:
    """The first bytes of a regular file; none where it has become something else."""
    descriptor = os.open(path, _READ)
    with open(descriptor, "rb") as file:
        return file.read(max(0, most)) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
