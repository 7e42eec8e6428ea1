"""How workers end, and what the host says of it."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.host.guests import Guest, alive, gone, number_in, put_away

from cacheon.engine import processes
from cacheon.engine.host.child import HEAD, LAST, TAIL
from cacheon.engine.protocol import Closed, Done, Garbled, Raised, Stop, TooSlow

pytestmark = pytest.mark.slow

Invite = Callable[[], Guest]


def test_a_worker_leaves_when_it_is_told(invite: Invite) -> None:
    guest = invite()
    assert guest.load("print('hello')") == Done()
    guest.port.wire.send(Stop())
    ended = guest.end()
    assert (ended.status, ended.signal, ended.killed, ended.strays) == (0, -1, False, 0)
    assert ended.output == "hello\n"
    assert gone(guest.pid)


def test_so_it_does_when_nobody_listens_any_more(invite: Invite) -> None:
    guest = invite()
    guest.load("")
    guest.port.wire.close()
    ended = guest.end()
    assert (ended.status, ended.signal, ended.killed) == (0, -1, False)


def test_one_that_only_waits_is_killed_after_its_grace(invite: Invite) -> None:
    guest = invite()
    guest.load("")
    started = time.monotonic()
    ended = guest.end(grace=0.2)
    assert 0.2 <= time.monotonic() - started < 10.0
    assert (ended.signal, ended.status, ended.killed) == (signal.SIGKILL, -1, True)


@pytest.mark.parametrize("status", [0, 7, 255])
def test_a_candidate_that_exits(invite: Invite, status: int) -> None:
    guest = invite()
    assert isinstance(
        guest.load(f"import os; print('bye', flush=True); os._exit({status})"), Closed
    )
    ended = guest.end()
    assert (ended.status, ended.signal, ended.killed) == (status, -1, False)
    assert ended.output == "bye\n"


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("import os; os.abort()", signal.SIGABRT),
        ("import ctypes; ctypes.string_at(0)", signal.SIGSEGV),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", signal.SIGTERM),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
    ],
)
def test_a_candidate_that_dies_by_a_signal(
    invite: Invite, source: str, number: signal.Signals
) -> None:
    guest = invite()
    assert isinstance(guest.load(source), Closed)
    ended = guest.end()
    assert (ended.signal, ended.status, ended.killed) == (number, -1, False)


def test_a_candidate_that_closes_its_channel_and_stays(invite: Invite) -> None:
    guest = invite()
    source = "import os, time\nos.close(3)\ntime.sleep(1000)\n"
    assert isinstance(guest.load(source), Closed)
    ended = guest.end(grace=0.2)
    assert ended.killed
    assert gone(guest.pid)


def test_a_candidate_that_writes_into_its_channel(invite: Invite) -> None:
    guest = invite()
    assert isinstance(guest.load("import os; os.write(3, b'\\0\\0\\0\\2hi')"), Garbled)
    assert guest.end(grace=0.2).killed


def test_a_candidate_that_exits_by_an_exception_is_answered(invite: Invite) -> None:
    guest = invite()
    reply = guest.load("import sys; sys.exit(3)")
    assert isinstance(reply, Raised)
    assert reply.kind == "SystemExit"
    assert guest.load("") == Done()


# --- hangs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def wait():\n    while True:\n        pass\nwait()\n", (3, 4)),
        ("import time\n\ntime.sleep(1000)\n", (4,)),
        ("import threading\nthreading.Event().wait()\n", (3,)),
    ],
)
def test_the_line_where_a_candidate_hangs_is_found(
    invite: Invite, source: str, line: tuple[int, ...]
) -> None:
    guest = invite()
    assert isinstance(guest.load(source, 0.5), TooSlow)
    ended = guest.end(hung=True)
    assert ended.killed
    assert ended.where is not None
    assert ended.where.file == "kernel.py"
    assert ended.where.line in line
    assert ended.where.source in source
    assert ended.where.source


@pytest.mark.parametrize(
    "source",
    [
        "import signal, time\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\ntime.sleep(1000)\n",
        "import os, time\nos.close(2)\ntime.sleep(1000)\n",
        "import signal, time\nfor n in set(signal.Signals) - {9, 19}:\n"
        "    signal.signal(n, signal.SIG_IGN)\ntime.sleep(1000)\n",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
    ],
)
def test_one_that_hides_its_line_ends_all_the_same(invite: Invite, source: str) -> None:
    guest = invite()
    assert isinstance(guest.load(source, 0.5), TooSlow)
    ended = guest.end(hung=True)
    assert (ended.where, ended.killed, ended.signal) == (None, True, signal.SIGKILL)
    assert gone(guest.pid)


# --- floods --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [1, 2])
def test_endless_output_is_dropped(invite: Invite, stream: int) -> None:
    guest = invite()
    source = f"import os\nwhile True:\n    os.write({stream}, b'x' * 65536)\n"
    assert isinstance(guest.load(source, 0.5), TooSlow)
    for _ in range(50):
        guest.child.output.drain()
    output = guest.child.output
    assert len(output.head) == HEAD
    assert len(output.tail) <= TAIL
    started = time.monotonic()
    ended = guest.end(hung=True)
    assert time.monotonic() - started < 5.0
    assert ended.output == "x" * HEAD + "\n...\n" + "x" * LAST
    assert ended.killed


def test_output_that_is_no_text_is_kept(invite: Invite) -> None:
    guest = invite()
    guest.load("import os\nos.write(1, b'\\xff\\xfe ok \\0\\n')\nos._exit(1)\n")
    assert guest.end().output == "\ufffd\ufffd ok \0\n"


# --- descendants ---------------------------------------------------------------------------------

STRAYS = {
    "a session of its own": "if os.fork() == 0:\n    os.setsid()\n    stay()\n",
    "a daemon": (
        "if os.fork() == 0:\n    os.setsid()\n    between = os.getpid()\n"
        "    if os.fork():\n        os._exit(0)\n"
        # Until the one between them has left, there are two.
        "    while os.getppid() == between:\n        time.sleep(0.001)\n    stay()\n"
    ),
    "deaf": (
        "if os.fork() == 0:\n    os.setsid()\n"
        "    for n in set(signal.Signals) - {9, 19}:\n        signal.signal(n, signal.SIG_IGN)\n"
        "    stay()\n"
    ),
    "without descriptors": "if os.fork() == 0:\n    os.setsid()\n    stay(closing=True)\n",
    "another program": (
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\nwrite(child.pid)\n"
    ),
    "a flood": (
        "if os.fork() == 0:\n    os.setsid()\n    write(os.getpid())\n"
        "    while True:\n        os.write(1, b'y' * 4096)\n"
    ),
}
PRELUDE = """
import os, signal, subprocess, time
def write(pid, name="pid"):
    with open(f"{os.path.dirname(__file__)}/{name}", "w") as file:
        file.write(f"{pid}\\n")
def stay(closing=False):
    write(os.getpid())
    if closing:
        os.closerange(0, 100)
    while True:
        time.sleep(100)
"""


@pytest.mark.parametrize("how", STRAYS)
def test_what_left_the_session_is_swept(invite: Invite, how: str) -> None:
    guest = invite()
    assert guest.load(PRELUDE + STRAYS[how]) == Done()
    stray = number_in(guest.root / "pid")
    assert alive(stray)
    try:
        guest.port.wire.send(Stop())
        ended = guest.end()
        assert ended.strays == 1
        assert (ended.status, ended.killed) == (0, False)
        assert gone(stray)
    finally:
        put_away(stray)


def test_a_whole_family_is_swept(invite: Invite) -> None:
    guest = invite()
    source = (
        "for n in range(4):\n"
        "    if os.fork():\n        break\n"
        "    os.setsid()\n"
        "    write(os.getpid(), f'pid{n}')\n"
        "if os.getpid() == os.getsid(0) and n: stay()\n"
    )
    guest.load(PRELUDE + source)
    family = [number_in(guest.root / f"pid{n}") for n in range(4)]
    try:
        ended = guest.end(grace=0.0)
        assert ended.strays == 4
        assert all(gone(pid) for pid in family)
    finally:
        put_away(*family)


def test_a_child_in_the_workers_own_session_dies_with_it(invite: Invite) -> None:
    guest = invite()
    guest.load(PRELUDE + "if os.fork() == 0:\n    stay()\n")
    child = number_in(guest.root / "pid")
    ended = guest.end(grace=0.0)
    assert ended.strays == 0
    assert gone(child)


def test_a_child_that_has_ended_is_no_stray(invite: Invite) -> None:
    guest = invite()
    source = "if os.fork() == 0:\n    os.setsid()\n    os._exit(0)\nos.wait()\n"
    assert guest.load(PRELUDE + source) == Done()
    assert guest.end(grace=0.0).strays == 0


def test_a_daemon_that_has_ended_before_the_sweep_was_a_stray(invite: Invite) -> None:
    guest = invite()
    daemon = "os.setsid()\n    if os.fork():\n        os._exit(0)\n    write(os.getpid())\n"
    source = f"if os.fork() == 0:\n    {daemon}    os._exit(0)\nos.wait()\n"
    assert guest.load(PRELUDE + source) == Done()
    daemon_pid = number_in(guest.root / "pid")
    deadline = time.monotonic() + 10.0
    while processes.look(daemon_pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    # It has been reaped, and not by this process.
    assert processes.look(daemon_pid) is None
    assert guest.end(grace=0.0).strays == 1
    other = invite()
    assert other.end(grace=0.0).strays == 0


TRACER = """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
library.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
me = os.getpid()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    # The end of the one between them would stop a process that is traced already.
    time.sleep(0.3)
    traced = library.ptrace(0x4206, me, None, None)
    write(os.getpid())
    write(traced, "traced")
    time.sleep(1000)
os.wait()
"""


def test_a_worker_that_is_traced_by_its_own_daemon_is_swept(invite: Invite) -> None:
    guest = invite()
    assert guest.load(PRELUDE + TRACER) == Done()
    tracer = number_in(guest.root / "pid")
    try:
        if number_in(guest.root / "traced") != 0:
            pytest.skip("nobody may be traced here")
        started = time.monotonic()
        ended = guest.end(grace=0.0)
        assert time.monotonic() - started < 10.0
        assert (ended.signal, ended.strays) == (signal.SIGKILL, 1)
        assert gone(tracer)
    finally:
        put_away(tracer)


def test_a_stray_of_one_worker_leaves_another_alone(invite: Invite, tmp_path: Path) -> None:
    one, other = invite(), invite()
    one.load(PRELUDE + STRAYS["a daemon"])
    number_in(one.root / "pid")
    other.load("")
    assert one.end(grace=0.0).strays == 1
    assert alive(other.pid)
    assert other.load("") == Done()


# --- streams -------------------------------------------------------------------------------------

STREAMS = {
    "none": "import sys\nsys.stdout = sys.stderr = None\n",
    "closed": "import sys\nsys.stdout.close()\nsys.stderr.close()\n",
    "none at all": "import sys\nsys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None\n",
    "one that ends": (
        "import sys\nclass Bad:\n    def flush(self):\n        raise SystemExit(9)\n"
        "    write = flush\nsys.stdout = sys.stderr = Bad()\n"
    ),
    "one that raises everything": (
        "import sys\nclass Bad:\n    def flush(self):\n        raise KeyboardInterrupt\n"
        "    write = flush\nsys.__stdout__ = sys.__stderr__ = Bad()\n"
    ),
}


@pytest.mark.parametrize("how", STREAMS)
def test_a_worker_without_its_streams_leaves_and_kills_nobody(invite: Invite, how: str) -> None:
    guest, other = invite(), invite()
    other.load("")
    assert guest.load(STREAMS[how]) == Done()
    guest.port.wire.send(Stop())
    ended = guest.end()
    assert (ended.status, ended.signal, ended.killed) == (0, -1, False)
    assert alive(other.pid)
    assert other.load("") == Done()
