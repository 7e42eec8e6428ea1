"""The fork server: imports torch and triton once, runs nothing of theirs, forks children.

Started by the host as `python -m cacheon.engine.host.zygote FD DEVICE DIRECTORY`. The standard
library's forkserver hands its control descriptors to every child and runs `__main__`
again; this one closes in a child whatever is not that child's own.

It is a child subreaper: what a candidate leaves behind becomes a child of this process,
even where it has left its session, and is found and killed from here.
"""

import contextlib
import functools
import gc
import importlib.util
import os
import selectors
import shutil
import signal
import socket
import sys
import time

from cacheon.engine import processes
from cacheon.engine.host.orders import AnyAnswer, AnyOrder, Fork, Forked, Ready, Swept
from cacheon.engine.protocol import TRUSTED_FRAME, Closed, Wire


class Zygote:
    def __init__(self, sock: socket.socket, device: str) -> None:
        self.device = device
        self.wire: Wire[AnyAnswer, AnyOrder] = Wire(sock, AnyOrder, limit=TRUSTED_FRAME)
        self.children: set[int] = set()

    def serve(self) -> None:
        """Answer orders until the host is gone; then kill every child."""
        selector = selectors.DefaultSelector()
        selector.register(self.wire.sock, selectors.EVENT_READ)
        try:
            while True:
                selector.select()
                order = self.wire.receive()
                if isinstance(order, Fork):
                    self._fork(order)
                else:
                    self._sweep(order.pid)
        except Closed:
            pass
        finally:
            for pid in list(self.children):
                self._kill(pid)
            self._kill_orphans(0)

    def _fork(self, order: Fork) -> None:
        if order.role != "grader":
            # The grader needs no triton: it makes its context while triton is imported.
            _import_for_workers()
        channel, output = self.wire.descriptor(), self.wire.descriptor()
        pid = os.fork()
        if pid == 0:
            _become(order, channel, output, self.device == "cpu")
        os.close(channel)
        os.close(output)
        self.children.add(pid)
        self.wire.send(Forked(pid=pid))

    def _sweep(self, pid: int) -> None:
        if pid not in self.children:
            self.wire.send(Swept(pid=pid, signal=-1, status=-1, strays=0))
            return
        status = self._kill(pid)
        strays = self._kill_orphans(pid)
        self.children.discard(pid)
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else -1
        left_with = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
        self.wire.send(Swept(pid=pid, signal=ended_by, status=left_with, strays=strays))

    def _kill(self, pid: int) -> int:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]

    def _kill_orphans(self, session: int) -> int:
        """Kill and reap children that this process did not fork itself, until none is
        left; how many of them lived in another session than `session`. Grandchildren
        arrive here only as their parents die, hence the rounds."""
        strays = 0
        for _ in range(200):
            orphans = [pid for pid in processes.children(os.getpid()) if pid not in self.children]
            if not orphans:
                break
            for pid in orphans:
                seen = processes.look(pid)
                if seen is not None and seen.state != "Z" and seen.session != session:
                    # torch.compile keeps a pool of compilers, in a session of their own.
                    strays += "torch._inductor.compile_worker" not in seen.command
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
            time.sleep(0.001)
        return strays


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

            code = run_inline(sock, on_cpu)
        else:
            from cacheon.engine.worker.main import run as run_worker

            code = run_worker(sock, on_cpu, order.device)
    except BaseException:
        # A child has nobody above it: the traceback goes to its output, which the host keeps.
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _import_engine(device: str) -> tuple[str, ...]:
    """Import what every child needs; the names of what is not there."""
    if device == "cpu":
        # Triton chooses its interpreter when it is imported.
        os.environ["TRITON_INTERPRET"] = "1"
    # A CUDA initialization here would be inherited broken by every child.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    os.environ.pop("PYTORCH_ALLOC_CONF", None)
    missing = tuple(n for n in ("torch", "triton") if importlib.util.find_spec(n) is None)
    if "torch" not in missing:
        importlib.import_module("torch")
    _freeze()
    return missing


@functools.cache
def _import_for_workers() -> None:
    """Import what every worker imports anyway, once."""
    if importlib.util.find_spec("triton") is not None:
        importlib.import_module("triton")
    importlib.import_module("cacheon.engine.worker.main")
    _freeze()


def _freeze() -> None:
    """Children never copy the pages of these objects in a collection of their own."""
    gc.collect()
    gc.freeze()


def main(arguments: list[str]) -> int:
    descriptor, device, directory = int(arguments[0]), arguments[1], arguments[2]
    processes.become_subreaper()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote = Zygote(socket.socket(fileno=descriptor), device)
    missing = _import_engine(device)
    try:
        zygote.wire.send(Ready(missing=missing))
        if "torch" not in missing:
            zygote.serve()
    except Closed:
        # The host left before anything was forked.
        return 0
    finally:
        if directory:
            # A host that was killed removes nothing.
            shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    # Nobody waits for an interpreter with all of torch in it to be taken apart.
    os._exit(main(sys.argv[1:]))
