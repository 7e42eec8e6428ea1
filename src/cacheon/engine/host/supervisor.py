"""Starts the zygote and, through it, the children; keeps what they print; ends them.

The host imports no torch.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cacheon.engine import processes
from cacheon.engine.host.child import Child, Output
from cacheon.engine.host.locating import where_they_hang
from cacheon.engine.host.losses import End
from cacheon.engine.host.orders import (
    AnyAnswer,
    AnyOrder,
    Fork,
    Forked,
    Leave,
    Ready,
    Role,
    Sweep,
    Swept,
)
from cacheon.engine.protocol import (
    TRUSTED_FRAME,
    AnyAsk,
    AnyTell,
    Closed,
    Ended,
    TooSlow,
    Where,
    Wire,
)
from cacheon.records.errors import InfrastructureError

GRACE = 2.0
"""Seconds in which a child may leave by itself."""
ANSWERS_WITHIN = 60.0
"""Seconds that the fork server may take for any order: it waits for nobody."""
LOOKS = 1.0
"""Seconds between two looks at a process that says nothing. One that a signal holds at both
will say nothing more."""
_servers: set[int] = set()
"""The fork servers of this process."""


class Supervisor:
    """Owns the zygote. Close it, or nothing that it started ends.

    `directories` are removed by the zygote where this process is killed; the first is its own.
    `triton`: whether candidates may compile with it."""

    def __init__(self, device: str, *directories: str, triton: bool = False) -> None:
        # Should the zygote be killed, what it would have swept comes to this process.
        processes.become_subreaper()
        self._strangers = set(processes.children(os.getpid()))
        ours, theirs = socket.socketpair()
        source = str(Path(__file__).parents[3])
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        # The package may be in use from a source tree that is on nobody's default path.
        environment["PYTHONPATH"] = os.pathsep.join(
            path for path in (source, os.environ.get("PYTHONPATH", "")) if path
        )
        descriptor = theirs.fileno()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "cacheon.engine.host.zygote",
                str(descriptor),
                device,
                "triton" if triton else "",
                *directories,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(descriptor,),
            env=environment,
            start_new_session=True,
        )
        theirs.close()
        _servers.add(self.process.pid)
        if self.process.stderr is None:
            raise InfrastructureError("the fork server has no error stream")
        self.errors = Output(self.process.stderr.fileno())
        self.wire: Wire[AnyOrder, AnyAnswer] = Wire(
            ours, Ready | Forked | Swept, limit=TRUSTED_FRAME
        )
        self.children: dict[int, Child] = {}
        self._ready: Ready | None = None
        self._has_forked = self._is_silent = False

    def ready(self, seconds: float = 120.0) -> Ready:
        """Wait for the zygote's imports. Raises InfrastructureError."""
        if self._ready is None:
            answer = self._answer(seconds)
            if not isinstance(answer, Ready):
                raise InfrastructureError(f"the fork server said {type(answer).__name__} first")
            self._ready = answer
        return self._ready

    def fork(self, role: Role, device: int = 0) -> Child:
        """A fresh child of this role, for the GPU of this number. Raises
        InfrastructureError."""
        self.ready()
        ours, theirs = socket.socketpair()
        try:
            reading, writing = os.pipe()
        except OSError:
            ours.close()
            theirs.close()
            raise
        child = Child(0, Output(reading), ours)
        try:
            answer = self._ask(Fork(role=role, device=device), (theirs.fileno(), writing))
            if not isinstance(answer, Forked):
                raise InfrastructureError(f"no child came: the fork server said {answer}")
        except InfrastructureError:
            child.close()
            raise
        finally:
            theirs.close()
            os.close(writing)
        child.pid = answer.pid
        self.children[child.pid] = child
        return child

    def end(self, pid: int, *, root: str = "", hung: bool = False, grace: float = GRACE) -> Ended:
        """Kill a child if it lives, sweep what it left, say how it ended.

        One that is leaving by itself gets `grace` seconds to do so: a signal of ours must
        not hide its own exit status.

        `root` is the directory of the candidate's snapshot: where the child hung, the
        line of it that was running is looked for in the child's own traceback."""
        child = self.children.pop(pid, None)
        if child is None:
            return Ended()
        try:
            where = where_they_hang([child], root)[0] if hung else None
            alive = not self._leaves(child, 0.0 if hung else grace)
            answer = self._ask(Sweep(pid=pid))
            if not isinstance(answer, Swept):
                raise InfrastructureError(f"nothing was swept: the fork server said {answer}")
            child.output.drain()
        finally:
            child.close()
        return Ended(
            signal=answer.signal,
            status=answer.status,
            killed=alive,
            strays=answer.strays,
            where=where,
            output=child.output.text(),
        )

    def locate(self, pids: Sequence[int], root: str) -> tuple[Where | None, ...]:
        """The line inside `root` that each child is running, None where it is not known."""
        living = {pid: self.children[pid] for pid in pids if pid in self.children}
        found = dict(zip(living, where_they_hang(list(living.values()), root), strict=True))
        return tuple(found.get(pid) for pid in pids)

    def fell(self) -> End | None:
        """How the zygote ended, or was stopped; None where it serves."""
        if processes.is_stopped(self.process.pid):
            return End("it was stopped by a signal", signal=signal.SIGSTOP)
        try:
            # Its socket closes a moment before it can be waited for.
            code = self.process.wait(GRACE if self._is_silent else 0.0)
        except subprocess.TimeoutExpired:
            return End("it answers no more") if self._is_silent else None
        if code < 0:
            return End(f"it died by signal {-code}", signal=-code)
        return End(f"it left with status {code}: {self._last_words()}", status=code)

    def pump(
        self, graders: Sequence[Wire[AnyTell, AnyAsk]], seconds: float
    ) -> list[Wire[AnyTell, AnyAsk]]:
        """Drain every output until a grader has something to say: those that have; none on
        time out."""
        deadline = time.monotonic() + seconds
        if heard := [grader for grader in graders if grader.holds_frame]:
            return heard
        while True:
            poll = select.poll()
            for grader in graders:
                poll.register(grader.sock, select.POLLIN)
            everyone = (self.errors, *(child.output for child in self.children.values()))
            # A stream at its end would wake every poll.
            outputs = {each.descriptor: each for each in everyone if not each.ended}
            for descriptor in outputs:
                poll.register(descriptor, select.POLLIN)
            left = deadline - time.monotonic()
            events = dict(poll.poll(max(0.0, left) * 1000))
            if not events:
                return []
            for descriptor in events.keys() & outputs.keys():
                outputs[descriptor].drain()
            ready = [grader for grader in graders if grader.sock.fileno() in events]
            if ready or time.monotonic() >= deadline:
                # Whoever prints without end wakes every poll.
                return ready

    def is_fresh(self) -> bool:
        """Whether nothing was forked yet, and it serves."""
        return not self._has_forked and self.fell() is None

    def close(self) -> None:
        """End every child and the zygote itself."""
        known = list(self.children)
        for pid in known:
            # All at once: a device context takes its time to go. None is reaped before its
            # sweep, so that no number is somebody else's yet.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            for pid in known:
                with contextlib.suppress(InfrastructureError):
                    self.end(pid, grace=0.0)
            self._close()
        except OSError:
            # This process can open nothing more, not even the process table: who is known
            # by number is killed, and with the zygote die its children.
            for pid in known:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
            for child in self.children.values():
                child.close()
            self.children.clear()
            self.wire.close()
            self.process.kill()
            self.process.wait()
            if self.process.stderr is not None:
                self.process.stderr.close()
            _servers.discard(self.process.pid)

    def _close(self) -> None:
        if self._is_silent or processes.is_stopped(self.process.pid):
            self.process.kill()
        with contextlib.suppress(Closed):
            # Without this word it would take this process for gone.
            self.wire.send(Leave())
        self.wire.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
        _servers.discard(self.process.pid)
        if self.process.returncode != 0 and self._has_forked:
            self._sweep_what_came_here()

    def _sweep_what_came_here(self) -> None:
        """The zygote was killed before it had swept: its descendants are children of this
        process now, in other sessions than its own. Grandchildren arrive as their parents
        die, hence the rounds."""
        for _ in range(200):
            left = [pid for pid in processes.children(os.getpid()) if self._came_here(pid)]
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _came_here(self, pid: int) -> bool:
        seen = processes.look(pid)
        if seen is None or pid in self._strangers or pid in _servers:
            return False
        return seen.session != os.getsid(0)

    def _ask(self, order: AnyOrder, descriptors: tuple[int, ...] = ()) -> AnyAnswer:
        self._has_forked = True
        if self._is_silent:
            raise InfrastructureError("the fork server is gone: it answers no more")
        try:
            self.wire.send(order, descriptors)
        except Closed as error:
            self._is_silent = True
            raise InfrastructureError(f"the fork server is gone: {self._last_words()}") from error
        return self._answer(ANSWERS_WITHIN)

    def _answer(self, seconds: float) -> AnyAnswer:
        try:
            if self._is_held(seconds):
                self._is_silent = True
                raise InfrastructureError("the fork server is gone: a signal holds it")
            return self.wire.receive(seconds)
        except Closed as error:
            self._is_silent = True
            raise InfrastructureError(f"the fork server is gone: {self._last_words()}") from error
        except TooSlow:
            # An answer that came later would be taken for that to another order: it is
            # asked nothing more.
            self._is_silent = True
            raise InfrastructureError(f"the fork server says nothing for {seconds:g} s") from None

    def _is_held(self, seconds: float) -> bool:
        """Wait until the zygote says something; whether a signal keeps it from that."""
        poll = select.poll()
        poll.register(self.wire.sock, select.POLLIN)
        deadline, held = time.monotonic() + seconds, False
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(min(left, LOOKS) * 1000):
                return False
            before, held = held, processes.is_stopped(self.process.pid)
            if before and held:
                return True
        return False

    def _last_words(self) -> str:
        self.errors.drain()
        lines = self.errors.tail.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _leaves(self, child: Child, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not processes.is_gone(child.pid):
            if time.monotonic() >= deadline:
                return False
            child.output.drain()
            time.sleep(0.001)
        return True
