"""What the kernel knows of processes: small calls on /proc and prctl (Linux only)."""

import ctypes
import os
import resource
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_SIGKILL = 9


class Seen(NamedTuple):
    """A process as /proc shows it: one-letter state, parent, session, command line."""

    state: str
    parent: int
    session: int
    command: str


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def become_subreaper() -> None:
    """Orphaned descendants become children of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """The kernel kills this process when its parent dies. Not inherited by forks."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def hide_memory() -> None:
    """No core dump, and no process of the same user may attach or read /proc/PID/mem."""
    _prctl(_PR_SET_DUMPABLE, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def close_descriptors_from(lowest: int) -> None:
    """Close every descriptor of this process from `lowest` up."""
    highest = max((int(name) for name in os.listdir("/proc/self/fd")), default=lowest)
    os.closerange(lowest, highest + 1)


def look(pid: int) -> Seen | None:
    """What /proc says of a process; None where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read().decode("utf-8", "replace").replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return Seen(fields[0], int(fields[1]), int(fields[3]), command)


def is_gone(pid: int) -> bool:
    """Whether it has ended, waited for or not."""
    seen = look(pid)
    return seen is None or seen.state == "Z"


def is_stopped(pid: int) -> bool:
    """Whether a signal or a tracer holds it."""
    seen = look(pid)
    return seen is not None and seen.state in "tT"


def children(pid: int) -> list[int]:
    """Direct children of a process, zombies included."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            seen = look(int(name))
            if seen is not None and seen.parent == pid:
                found.append(int(name))
    return found
