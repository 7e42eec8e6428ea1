"""The fork server by itself: its orders, its end, and what it leaves."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.engine.course.runs import python_path
from tests.engine.host.guests import PATIENCE, alive, gone, number_in, put_away

from cacheon.engine.host.imports import Imports
from cacheon.engine.host.orders import AnyAnswer, AnyOrder, Fork, Forked, Leave, Ready, Sweep, Swept
from cacheon.engine.host.zygote import Zygote
from cacheon.engine.protocol import TRUSTED_FRAME, Closed, Garbled, Wire

pytestmark = pytest.mark.slow


class Server:
    """A fork server, started as the host starts it, and the host's end of its socket."""

    def __init__(self, directory: Path | None = None) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "cacheon.engine.host.zygote",
                str(theirs.fileno()),
                "cpu",
                "",
                str(directory or ""),
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            env=dict(os.environ, PYTHONPATH=python_path()),
            text=True,
        )
        theirs.close()
        self.wire: Wire[AnyOrder, AnyAnswer] = Wire(
            ours, Ready | Forked | Swept, limit=TRUSTED_FRAME
        )
        assert self.wire.receive(60.0) == Ready()

    def fork(self, role: str = "worker") -> tuple[int, socket.socket, int]:
        """Its number, our end of its socket, our end of its output."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        self.wire.send(
            msgspec.convert({"order": "fork", "role": role}, Fork), (theirs.fileno(), writing)
        )
        theirs.close()
        os.close(writing)
        answer = self.wire.receive(PATIENCE)
        assert isinstance(answer, Forked)
        if role == "worker":
            # It says so when it is up.
            assert ours.recv(4096)
        return answer.pid, ours, reading

    def over(self) -> str:
        self.wire.close()
        return self.process.communicate(timeout=PATIENCE)[1]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "directory")
    yield made
    made.wire.close()
    made.process.kill()
    made.process.communicate()


def test_it_serves_until_the_host_is_gone(server: Server, tmp_path: Path) -> None:
    (tmp_path / "directory" / "caches").mkdir(parents=True)
    pid, sock, reading = server.fork()
    assert alive(pid)
    assert server.over() == ""
    assert server.process.returncode == 0
    assert gone(pid, 0.0)
    assert not (tmp_path / "directory").exists()
    sock.close()
    os.close(reading)


def test_it_removes_nothing_where_the_host_goes_on(server: Server, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    pid, sock, reading = server.fork()
    server.wire.send(Leave())
    assert server.process.wait(PATIENCE) == 0
    assert gone(pid, 0.0)
    assert (tmp_path / "directory").exists()
    sock.close()
    os.close(reading)


def test_a_child_leads_a_session_and_has_the_server_for_a_parent(server: Server) -> None:
    pid, sock, reading = server.fork()
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == str(
        server.process.pid
    )
    server.wire.send(Sweep(pid=pid))
    assert server.wire.receive(PATIENCE) == Swept(pid=pid, signal=9, status=-1, strays=0)
    server.wire.send(Sweep(pid=pid))
    assert server.wire.receive(PATIENCE) == Swept(pid=pid, signal=-1, status=-1, strays=0)
    sock.close()
    os.close(reading)


def test_a_child_that_cannot_begin_says_why(server: Server) -> None:
    """A grader that hears something else than it expects leaves by itself."""
    pid, sock, reading = server.fork("grader")
    sock.sendall(b"\0\0\0\1\xc0")
    said = b""
    while chunk := os.read(reading, 4096):
        said += chunk
    assert b"Garbled" in said
    server.wire.send(Sweep(pid=pid))
    answer = server.wire.receive(PATIENCE)
    assert isinstance(answer, Swept)
    assert (answer.signal, answer.status) == (-1, 70)
    sock.close()
    os.close(reading)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc0",
        msgspec.msgpack.encode({"order": "exec", "role": "worker"}),
        msgspec.msgpack.encode({"order": "fork", "role": "root"}),
        msgspec.msgpack.encode({"order": "sweep", "pid": "1"}),
        msgspec.msgpack.encode({"order": "sweep", "pid": 1, "force": True}),
    ],
)
def test_an_order_that_is_none_is_not_understood(body: bytes) -> None:
    ours, theirs = socket.socketpair()
    zygote = Zygote(theirs, "cpu", Imports("cpu", triton=False, directory=""))
    ours.sendall(len(body).to_bytes(4, "big") + body)
    with ours, theirs, pytest.raises(Garbled):
        zygote.wire.receive(PATIENCE)


def test_after_such_an_order_it_ends_with_its_children(server: Server) -> None:
    pid, sock, reading = server.fork()
    server.wire.sock.sendall(b"\0\0\0\1\xc0")
    with pytest.raises(Closed):
        server.wire.receive(PATIENCE)
    assert "Garbled" in server.over()
    assert server.process.returncode == 1
    assert gone(pid)
    sock.close()
    os.close(reading)


def test_an_interrupt_from_the_terminal_is_the_hosts_business(server: Server) -> None:
    server.process.send_signal(signal.SIGINT)
    pid, sock, reading = server.fork()
    assert alive(pid)
    os.kill(pid, signal.SIGINT)
    assert gone(pid)
    sock.close()
    os.close(reading)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_its_children_die_with_it(server: Server, number: signal.Signals) -> None:
    pids = []
    for role in ("worker", "grader"):
        pid, sock, reading = server.fork(role)
        pids.append(pid)
        sock.close()
        os.close(reading)
    server.process.send_signal(number)
    server.process.wait(PATIENCE)
    assert all(gone(pid) for pid in pids)


HOST = """
import os, sys, time
from pathlib import Path
from tests.engine.host.guests import Guest
from tests.engine.host.test_ends import PRELUDE, STRAYS
from cacheon.engine.host.supervisor import Supervisor

root, directory = Path(sys.argv[1]), sys.argv[2]
supervisor = Supervisor("cpu", directory, directory + ".also")
guest = Guest(supervisor, root)
guest.load(PRELUDE + STRAYS["a daemon"])
grader = supervisor.fork("grader")
print(supervisor.process.pid, guest.pid, grader.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_a_host_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    root, directory = tmp_path / "bundle", tmp_path / "directory"
    root.mkdir()
    (directory / "caches").mkdir(parents=True)
    also = tmp_path / "directory.also"
    also.mkdir()
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(root), str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=python_path()),
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )
    assert host.stdout is not None
    pids = [int(word) for word in host.stdout.readline().split()]
    assert len(pids) == 3, host.communicate()[1]
    pids.append(number_in(root / "pid"))
    assert all(alive(pid) for pid in pids)
    host.send_signal(number)
    try:
        # With its output pipes still held by nobody, the host is done at once.
        host.communicate(timeout=PATIENCE)
        assert all(gone(pid) for pid in pids)
        deadline = time.monotonic() + 5.0
        while (directory.exists() or also.exists()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not directory.exists()
        assert not also.exists()
    finally:
        put_away(*pids)


def test_a_sweep_gives_up_on_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orphans that appear while others are killed are killed too, until none is left."""
    ours, theirs = socket.socketpair()
    zygote = Zygote(theirs, "cpu", Imports("cpu", triton=False, directory=""))
    waves = iter([[10, 11], [12], [], [13]])
    killed: list[int] = []
    monkeypatch.setattr("cacheon.engine.processes.children", lambda _: next(waves))
    monkeypatch.setattr("cacheon.engine.processes.look", lambda _: None)
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (pid, 0))
    strays: set[int] = set()
    zygote._kill_orphans(5, strays)
    assert strays == set()
    assert killed == [10, 11, 12]
    assert next(waves) == [13]
    ours.close()
    theirs.close()


def test_triton_is_known_before_anything_is_forked(tmp_path: Path) -> None:
    """What it reads all of its own files for stands in every child, and nothing that was made
    for it lies on disc."""
    pytest.importorskip("triton")
    script = (
        "from cacheon.engine.host.imports import Imports\n"
        "import os, sys, threading\n"
        "imports = Imports('cuda', triton=True, directory=sys.argv[1])\n"
        "imports.engine()\n"
        "import triton.runtime.cache as cache\n"
        "assert threading.active_count() == 1\n"
        "assert cache.triton_key.cache_info().currsize == 1\n"
        "imports.worker()\n"
        "assert 'cacheon.engine.worker.main' in sys.modules\n"
        "assert os.environ['TRITON_CACHE_DIR'] == '/elsewhere'\n"
        "assert os.listdir(sys.argv[1]) == []\n"
    )
    environment = dict(os.environ, PYTHONPATH=python_path(), TRITON_CACHE_DIR="/elsewhere")
    command = [sys.executable, "-c", script, str(tmp_path)]
    subprocess.run(command, check=True, timeout=120, env=environment)
