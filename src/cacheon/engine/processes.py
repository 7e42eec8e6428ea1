"""What the kernel knows of processes: small calls on /proc and prctl (Linux only)."""

import contextlib
import ctypes
import os
import resource
import struct
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITIES_VERSION_3 = 0x20080522
_SIGKILL = 9


_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_SPEC_ALLOW = 4
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
"""Go on; or fail with EPERM."""
_SYSTEM_CALLS = {"x86_64": (0xC000003E, 317, 302), "aarch64": (0xC00000B7, 277, 261)}
"""By machine: how the kernel calls it, and its numbers of seccomp and prlimit64."""


class Seen(NamedTuple):
    """A process as /proc shows it: one-letter state, parent, session, command line."""

    state: str
    parent: int
    session: int
    command: str


def _prctl(option: int, value: int) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    answer: int = library.prctl(option, ctypes.c_ulong(value), *(ctypes.c_ulong(0),) * 3)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def become_subreaper() -> None:
    """Orphaned descendants become children of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """The kernel kills this process when its parent dies. Not inherited by forks."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def hide_memory() -> None:
    """No core dump, and no process of the same user may attach or read /proc/PID/mem."""
    set_dumpable(False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def set_dumpable(whether: bool) -> bool:
    """Whether processes of the same user, and no more capable, may attach to this one, read
    its memory and take its descriptors; whether they might before. Forks inherit it."""
    before = _prctl(_PR_GET_DUMPABLE, 0) != 0
    _prctl(_PR_SET_DUMPABLE, int(whether))
    return before


def give_up_privileges() -> None:
    """Drop every capability of this thread, for good and for whatever it executes. Call it
    while there is one thread. A process of root's is then an ordinary process of its user:
    the kernel lets it attach to none that kept its capabilities or hides its memory."""
    for capability in range(64):
        with contextlib.suppress(OSError):
            # There are fewer than 64; and without CAP_SETPCAP, which few have, the bit
            # that is set below keeps them away as well.
            if _prctl(_PR_CAPBSET_READ, capability):
                _prctl(_PR_CAPBSET_DROP, capability)
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    library = ctypes.CDLL(None, use_errno=True)
    if library.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def leave_limits_of_others_alone() -> None:
    """From now on this process, and what comes of it, sets only its own limits: it takes
    no capability to lower those of other processes of the same user, for good. After
    `give_up_privileges`. Where the kernel filters no calls, nothing changes."""
    if os.uname().machine not in _SYSTEM_CALLS:
        return
    arch, seccomp, prlimit = _SYSTEM_CALLS[os.uname().machine]
    # Load a word; compare and skip, where equal, where not; return.
    program = (
        (0x20, 0, 0, 4),  # the machine
        (0x15, 0, 6, arch),
        (0x20, 0, 0, 0),  # the number of the call
        (0x35, 4, 0, 0x40000000),  # the second table of x86_64
        (0x15, 1, 0, prlimit),
        (0x06, 0, 0, _ALLOW),
        (0x20, 0, 0, 16),  # its first argument: whose limits, 0 for its own
        (0x15, 1, 0, 0),
        (0x06, 0, 0, _REFUSE),
        (0x06, 0, 0, _ALLOW),
    )
    code = b"".join(struct.pack("HBBI", *each) for each in program)
    kept = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(kept))
    ctypes.CDLL(None).syscall(
        seccomp, _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_SPEC_ALLOW, header
    )


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


def own_children() -> list[int]:
    """Direct children of this process, zombies included, without a look at everybody. While
    some of them end, others may be missing."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                found += (int(word) for word in file.read().split())
    except FileNotFoundError:
        # A kernel without these lists, or a thread that has just ended.
        return children(os.getpid())
    return found
