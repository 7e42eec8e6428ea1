"""Workers with sources of our own in them, and what the machine shows of processes."""

import os
import signal
import socket
import tempfile
import time
from pathlib import Path

from cacheon.engine import processes
from cacheon.engine.host.child import Child
from cacheon.engine.host.supervisor import Supervisor
from cacheon.engine.protocol import (
    AnyReply,
    Closed,
    Done,
    Ended,
    Garbled,
    Load,
    MakeSlab,
    ProcessPort,
    TooSlow,
)
from cacheon.engine.request import Candidate

SLAB = 4096
PATIENCE = 20.0
"""Seconds that nothing here takes, on a slow machine either."""


class Guest:
    """A worker on a CPU, its slab made; `load` runs a source in it."""

    def __init__(self, supervisor: Supervisor, root: Path) -> None:
        self.supervisor, self.root = supervisor, root
        self.child: Child = supervisor.fork("worker")
        self.port = ProcessPort(socket.socket(fileno=os.dup(self.child.sock.fileno())))
        self.child.sock.close()
        assert self.port.greeting(PATIENCE) == Done()
        slab = os.memfd_create("cacheon-test", os.MFD_CLOEXEC)
        os.ftruncate(slab, SLAB)
        try:
            reply = self.port.ask(MakeSlab(nbytes=SLAB, shared=True), PATIENCE, (slab,))
        finally:
            os.close(slab)
        assert reply == Done()

    @property
    def pid(self) -> int:
        return self.child.pid

    def load(self, source: str, seconds: float = PATIENCE) -> AnyReply | Exception:
        """What came of it: a reply, or how none came."""
        (self.root / "kernel.py").write_text("def entry(): ...\n" + source)
        candidate = Candidate(root=str(self.root), source="kernel.py", entry="entry")
        try:
            return self.port.ask(Load(candidate=candidate, caches=str(self.root)), seconds)
        except (Closed, Garbled, TooSlow) as error:
            return error

    def end(self, *, hung: bool = False, grace: float = 2.0) -> Ended:
        try:
            return self.supervisor.end(self.pid, root=str(self.root), hung=hung, grace=grace)
        finally:
            self.port.wire.close()


def alive(pid: int) -> bool:
    seen = processes.look(pid)
    return seen is not None and seen.state != "Z"


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process ends within that time."""
    deadline = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def put_away(*pids: int) -> None:
    """End what a failed test left behind."""
    for pid in pids:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def number_in(file: Path, seconds: float = 10.0) -> int:
    """The process id that a candidate wrote into a file."""
    deadline = time.monotonic() + seconds
    while not (file.exists() and file.read_text().endswith("\n")):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing was written to {file}")
        time.sleep(0.01)
    return int(file.read_text())


def litter() -> set[str]:
    """What lies in the directory for temporary files, and of ours in shared memory."""
    shared = {name for name in os.listdir("/dev/shm") if name.startswith(("cacheon", "torch"))}
    return shared | set(os.listdir(tempfile.gettempdir()))
