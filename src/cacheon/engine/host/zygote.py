"""The fork server: imports torch and triton once, runs nothing of theirs, forks children.

Started by the host as `python -m cacheon.engine.host.zygote FD DEVICE AHEAD DIRECTORY...`. The
standard library's forkserver hands its control descriptors to every child and runs `__main__`
again; this one closes in a child whatever is not that child's own.

It is a child subreaper: what a candidate leaves behind becomes a child of this process,
even where it has left its session, and is found and killed from here.
"""

import contextlib
import os
import selectors
import signal
import socket
import sys
import time

from cacheon.engine import processes
from cacheon.engine.host import signals
from cacheon.engine.host.imports import Imports
from cacheon.engine.host.orders import AnyAnswer, AnyOrder, Fork, Forked, Leave, Ready, Swept
from cacheon.engine.protocol import TRUSTED_FRAME, Closed, Wire
from cacheon.engine.removing import remove

_TICK = 0.1
"""Seconds after which an idle server looks for orphans that have ended."""
_DIES_WITHIN = 20.0
"""Seconds for what was killed to be gone: a device context takes its time, and one that is
traced stays as long as its tracer wants."""


class Zygote:
    def __init__(self, sock: socket.socket, device: str, imports: Imports) -> None:
        self.device, self.imports = device, imports
        self.wire: Wire[AnyAnswer, AnyOrder] = Wire(sock, AnyOrder, limit=TRUSTED_FRAME)
        self.children: set[int] = set()
        self._pid = os.getpid()
        self._ended_strays = 0

    def serve(self) -> bool:
        """Answer orders until the host says that it needs this server no more, or is gone;
        then kill every child. Whether the host is gone."""
        selector = selectors.DefaultSelector()
        selector.register(self.wire.sock, selectors.EVENT_READ)
        try:
            while True:
                while not selector.select(_TICK):
                    self._reap()
                self._reap()
                order = self.wire.receive()
                if isinstance(order, Fork):
                    self._fork(order)
                elif isinstance(order, Leave):
                    return False
                else:
                    self._sweep(order.pid)
        except Closed:
            return True
        finally:
            # In a child nothing here is its own to kill.
            if os.getpid() == self._pid:
                for pid in list(self.children):
                    self._kill(pid, set())
                self._kill_orphans(0, set())

    def _fork(self, order: Fork) -> None:
        if order.role != "grader":
            # The grader needs no triton: it makes its context while triton is imported.
            self.imports.worker()
        channel, output = self.wire.descriptor(), self.wire.descriptor()
        pid = os.fork()
        if pid == 0:
            self.children.clear()
            _become(order, channel, output, self.device == "cpu")
        os.close(channel)
        os.close(output)
        self.children.add(pid)
        self.wire.send(Forked(pid=pid))

    def _sweep(self, pid: int) -> None:
        if pid not in self.children:
            self.wire.send(Swept(pid=pid, signal=-1, status=-1, strays=0))
            return
        strays: set[int] = set()
        status = self._kill(pid, strays)
        self._kill_orphans(pid, strays)
        # Where a tracer still holds it, it is an orphan like others from now on.
        self.children.discard(pid)
        ended, self._ended_strays = self._ended_strays, 0
        self.wire.send(
            Swept(
                pid=pid,
                signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else -1,
                status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1,
                strays=ended + len(strays),
            )
        )

    def _kill(self, pid: int, strays: set[int]) -> int:
        """Kill a child with its group and reap it; its wait status. A process that traces
        it is told of its end first, and may never listen: one that is an orphan is killed
        too, and nobody is waited for without end."""
        deadline = time.monotonic() + _DIES_WITHIN
        while True:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            reaped, status = os.waitpid(pid, os.WNOHANG)
            if reaped:
                return status
            if time.monotonic() > deadline:
                return int(signal.SIGKILL)
            self._kill_some_orphans(pid, strays)
            time.sleep(0.001)

    def _kill_orphans(self, session: int, strays: set[int]) -> None:
        """Kill and reap orphans until none is left. Grandchildren arrive here only as
        their parents die, hence the rounds."""
        deadline = time.monotonic() + _DIES_WITHIN
        while self._kill_some_orphans(session, strays) and time.monotonic() < deadline:
            time.sleep(0.001)

    def _kill_some_orphans(self, session: int, strays: set[int]) -> bool:
        """Kill children that this process did not fork itself, and reap those that have
        ended; whether there were any. Those that lived in another session than `session`
        are added to the strays; what is in another child's session waits for its sweep."""
        others = self.children - {session} if session else set()
        found = False
        for pid in processes.children(os.getpid()):
            seen = processes.look(pid)
            if pid in self.children or (seen is not None and seen.session in others):
                continue
            found = True
            if seen is not None and seen.state != "Z" and seen.session != session:
                # torch.compile keeps a pool of compilers, in a session of their own.
                strays |= set() if "torch._inductor.compile_worker" in seen.command else {pid}
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return found

    def _reap(self) -> None:
        """Reap orphans that have ended, before they fill the table of processes. One that
        left its session, and became an orphan while every child was alive, was a daemon
        and counts as a stray; a pool of compilers is an orphan only after its worker."""
        ended = [
            (pid, seen.session)
            for pid in processes.own_children()
            if pid not in self.children
            and (seen := processes.look(pid)) is not None
            and seen.state == "Z"
        ]
        if not ended:
            return
        all_live = not any(processes.is_gone(pid) for pid in self.children)
        for pid, session in ended:
            self._ended_strays += all_live and session not in self.children
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _become(order: Fork, channel: int, output: int, on_cpu: bool) -> None:
    """The child's whole life; never returns."""
    code = 70
    try:
        os.setsid()
        processes.die_with_parent()
        os.dup2(output, 1)
        os.dup2(output, 2)
        # What a candidate executes must not hold its end of the channel open.
        kept = os.dup2(channel, 3, inheritable=False)
        processes.close_descriptors_from(4)
        for name in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_DFL)
        sock = socket.socket(fileno=kept)
        # Each room is entered only by the process it belongs to: no module of the grader
        # is ever loaded where workers are forked.
        if order.role == "grader":
            from cacheon.engine.grader.main import run as run_grader

            code = run_grader(sock)
        elif order.role == "inline":
            from cacheon.engine.inline import run as run_inline

            processes.give_up_privileges()
            processes.leave_limits_of_others_alone()
            code = run_inline(sock, on_cpu)
        else:
            from cacheon.engine.worker.main import run as run_worker

            code = run_worker(sock, on_cpu, order.device)
    except BaseException:
        # A child has nobody above it: the traceback goes to its output, which the host keeps.
        import traceback

        with contextlib.suppress(Exception):
            traceback.print_exc(file=sys.__stderr__)
    finally:
        try:
            # The candidate may have put anything in the place of the others, or closed these.
            for stream in (sys.__stdout__, sys.__stderr__):
                with contextlib.suppress(Exception):
                    if stream is not None:
                        stream.flush()
        finally:
            os._exit(code)


def main(arguments: list[str]) -> int:
    descriptor, device, directories = int(arguments[0]), arguments[1], arguments[3:]
    own = next(iter(directories), "")
    imports = Imports(device, triton=arguments[2] == "triton", directory=own)
    processes.become_subreaper()
    # Whatever it holds, every later grader is made of.
    processes.hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals.hear()
    zygote = Zygote(socket.socket(fileno=descriptor), device, imports)
    missing = imports.engine()
    try:
        zygote.wire.send(Ready(missing=missing))
        is_left_alone = "torch" not in missing and zygote.serve()
    except Closed:
        # The host left before anything was forked.
        is_left_alone = True
    if is_left_alone:
        for directory in filter(None, directories):
            # A host that was killed removes nothing.
            remove(directory)
    return 0


if __name__ == "__main__":
    # Nobody waits for an interpreter with all of torch in it to be taken apart.
    os._exit(main(sys.argv[1:]))
