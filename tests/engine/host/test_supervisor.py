"""The host's side of its children: what it reads, what it keeps, what it holds open."""

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.host.guests import PATIENCE, Guest, alive, gone, litter, number_in, put_away
from tests.engine.host.test_ends import PRELUDE, STRAYS

from cacheon.engine.host.orders import Forked, Swept
from cacheon.engine.host.supervisor import Supervisor
from cacheon.engine.protocol import (
    TRUSTED_FRAME,
    AnyAsk,
    Closed,
    Done,
    Ended,
    EndWorker,
    Facts,
    SpawnWorker,
    TooSlow,
    WantQuiet,
    Wire,
)
from cacheon.engine.request import Budget, RunSettings
from cacheon.records.errors import InfrastructureError

Invite = Callable[[], Guest]


def open_descriptors() -> dict[str, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
    return found


# --- descriptors ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_children_that_come_and_go_leave_nothing_open(invite: Invite) -> None:
    invite().end()
    before = open_descriptors()
    for source in ("", "import os; os._exit(1)", "import os; os.close(1); os.close(2)"):
        guest = invite()
        guest.load(source)
        listen(guest.supervisor, 0.05)
        guest.end(grace=0.0)
    assert open_descriptors().keys() == before.keys()


@pytest.mark.slow
def test_a_child_that_nobody_took_leaves_nothing_open(supervisor: Supervisor) -> None:
    supervisor.end(supervisor.fork("worker").pid, grace=0.0)
    before = open_descriptors()
    child = supervisor.fork("worker")
    supervisor.end(child.pid, grace=0.0)
    assert child.sock.fileno() == -1
    assert open_descriptors().keys() == before.keys()


DESCRIPTORS = """
import os, subprocess
here = os.path.dirname(__file__)
held = {int(name): os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}")}
told = subprocess.run(
    ["ls", "/proc/self/fd"], close_fds=False, stdout=subprocess.PIPE, text=True, check=True
).stdout.split()
with open(f"{here}/held", "w") as file:
    file.write("\\n".join(f"{number} {what}" for number, what in sorted(held.items())))
with open(f"{here}/told", "w") as file:
    file.write(" ".join(told))
"""


@pytest.mark.slow
def test_a_worker_holds_its_own_descriptors_and_no_others(invite: Invite) -> None:
    # Others are there, and something of ours lies open and inheritable.
    other, guest = invite(), invite()
    secret = os.open(__file__, os.O_RDONLY)
    os.set_inheritable(secret, True)
    late = invite()
    os.close(secret)
    for one in (other, guest, late):
        assert one.load(DESCRIPTORS) == Done()
        held = dict(line.split(" ", 1) for line in (one.root / "held").read_text().splitlines())
        assert held.pop("0") == "/dev/null"
        assert held.pop("1").startswith("pipe:")
        assert held.pop("2").startswith("pipe:")
        assert held.pop("3").startswith("socket:")
        held = {number: what for number, what in held.items() if "/fd" not in what}
        assert all("memfd:cacheon-test" in what for what in held.values()), held
        # What it executes gets its output, and the pipe made for it; not the channel.
        told = (one.root / "told").read_text().split()
        assert told[:3] == ["0", "1", "2"]
        assert len(told) == 4


@pytest.mark.slow
def test_the_grader_holds_its_own_descriptors_and_no_others(
    supervisor: Supervisor, invite: Invite
) -> None:
    invite()
    child = supervisor.fork("grader")
    wire: Wire[object, AnyAsk] = Wire(child.sock, AnyAsk, limit=TRUSTED_FRAME)
    begin(wire)
    assert isinstance(wire.receive(PATIENCE), Facts)
    assert sorted(os.listdir(f"/proc/{child.pid}/fd"), key=int) == ["0", "1", "2", "3"]
    wire.close()
    ended = supervisor.end(child.pid)
    assert (ended.status, ended.killed) == (0, False)


def begin(wire: Wire[object, AnyAsk]) -> None:
    from cacheon.engine.protocol import Begin

    wire.send(Begin(settings=RunSettings(device="cpu", seed=1, budget=Budget())))


def listen(supervisor: Supervisor, seconds: float) -> None:
    """Let the supervisor drain what its children print, while no grader says anything."""
    silent, ours = socket.socketpair()
    with silent, ours:
        supervisor.pump([Wire(ours, AnyAsk, limit=TRUSTED_FRAME)], seconds)


# --- outputs -------------------------------------------------------------------------------------


def test_what_came_together_with_an_earlier_word_is_heard(supervisor: Supervisor) -> None:
    """Two words in one piece: the socket tells of the first alone."""
    theirs, ours = socket.socketpair()
    with theirs, ours:
        says: Wire[AnyAsk, object] = Wire(theirs, AnyAsk, limit=TRUSTED_FRAME)
        hears: Wire[object, AnyAsk] = Wire(ours, AnyAsk, limit=TRUSTED_FRAME)
        said = (SpawnWorker(device=0), WantQuiet(), EndWorker(worker=1))
        for each in said:
            says.send(each)
        heard = []
        for _ in said:
            assert supervisor.pump([hears], 5.0) == [hears]
            heard.append(hears.receive(0.0))
        assert tuple(heard) == said
        assert supervisor.pump([hears], 0.0) == []


@pytest.mark.slow
def test_a_flood_hides_no_grader(supervisor: Supervisor, invite: Invite) -> None:
    guests = [invite() for _ in range(2)]
    for guest in guests:
        guest.load("import os\nwhile True:\n    os.write(1, b'x' * 65536)\n", 0.2)
    theirs, ours = socket.socketpair()
    with theirs, ours:
        wire: Wire[object, AnyAsk] = Wire(ours, AnyAsk, limit=TRUSTED_FRAME)
        started = time.monotonic()
        assert supervisor.pump([wire], 0.3) == []
        assert time.monotonic() - started < 2.0, "nor the end of a deadline"
        theirs.sendall(b"\0")
        started = time.monotonic()
        assert supervisor.pump([wire], 10.0) == [wire]
        assert time.monotonic() - started < 2.0
    assert all(alive(guest.pid) for guest in guests)


@pytest.mark.slow
def test_a_silent_stream_wakes_nobody(supervisor: Supervisor, invite: Invite) -> None:
    """One that its child closed is at its end for good."""
    guest = invite()
    guest.load("import os\nos.close(1)\nos.close(2)\n")
    listen(supervisor, 0.05)
    used = time.process_time()
    listen(supervisor, 0.5)
    assert time.process_time() - used < 0.2


def test_nothing_is_known_of_a_child_that_is_nobodys(supervisor: Supervisor) -> None:
    assert supervisor.end(1) == Ended()
    assert alive(1)


# --- the fork server -----------------------------------------------------------------------------


@pytest.mark.slow
def test_it_sweeps_only_what_it_forked(supervisor: Supervisor) -> None:
    from cacheon.engine.host.orders import Sweep

    supervisor.ready()
    for pid in (1, os.getpid(), 999_999):
        supervisor.wire.send(Sweep(pid=pid))
        answer = supervisor.wire.receive(PATIENCE)
        assert answer == Swept(pid=pid, signal=-1, status=-1, strays=0)
    assert not isinstance(answer, Forked)


@pytest.mark.slow
def test_a_fork_server_that_is_gone_is_an_infrastructures_failure(
    own_supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor = own_supervisor
    guest = Guest(supervisor, tmp_path)
    guest.load("")
    before = open_descriptors()
    os.kill(supervisor.process.pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError, match="fork server is gone"):
        supervisor.fork("worker")
    assert open_descriptors().keys() == before.keys()
    # The kernel ends a worker with the process that forked it.
    assert gone(guest.pid)
    with pytest.raises(InfrastructureError, match="fork server is gone"):
        guest.end(grace=0.1)
    supervisor.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["a session of its own", "a daemon", "another program"])
def test_a_candidate_that_kills_the_fork_server_leaves_nothing(
    own_supervisor: Supervisor, tmp_path: Path, how: str
) -> None:
    guest = Guest(own_supervisor, tmp_path)
    source = PRELUDE + STRAYS[how] + "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(1000)\n"
    # What it forked before holds the worker's end of the channel.
    assert isinstance(guest.load(source, 1.0), Closed | TooSlow)
    stray = number_in(tmp_path / "pid")
    try:
        own_supervisor.close()
        assert gone(guest.pid)
        assert gone(stray)
    finally:
        put_away(stray)
    guest.port.wire.close()


@pytest.mark.slow
def test_a_fork_server_that_hangs_is_not_waited_for(
    own_supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = own_supervisor
    supervisor.ready()
    monkeypatch.setattr("cacheon.engine.host.supervisor.ANSWERS_WITHIN", 0.3)
    os.kill(supervisor.process.pid, signal.SIGSTOP)
    with pytest.raises(InfrastructureError, match="says nothing"):
        supervisor.fork("worker")
    os.kill(supervisor.process.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_fork_server_that_a_signal_holds_is_not_waited_for(own_supervisor: Supervisor) -> None:
    supervisor = own_supervisor
    supervisor.ready()
    os.kill(supervisor.process.pid, signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(InfrastructureError, match="a signal holds it"):
        supervisor.fork("worker")
    assert time.monotonic() - started < 5
    end = supervisor.fell()
    assert end is not None
    assert end.signal == signal.SIGSTOP
    os.kill(supervisor.process.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_fork_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    supervisor = Supervisor("cpu")
    with pytest.raises(InfrastructureError, match="fork server is gone: it said nothing"):
        supervisor.ready()
    supervisor.close()


@pytest.mark.slow
def test_closing_ends_everything_and_leaves_nothing(tmp_path: Path, own_tmp: Path) -> None:
    littered, held = litter(), open_descriptors()
    supervisor = Supervisor("cpu")
    guests = []
    for number, source in enumerate(("", "while True:\n    pass\n", PRELUDE + STRAYS["deaf"])):
        (tmp_path / str(number)).mkdir()
        guests.append(Guest(supervisor, tmp_path / str(number)))
        guests[-1].load(source, 0.5)
    stray = number_in(tmp_path / "2" / "pid")
    supervisor.fork("grader")
    server, pids = supervisor.process, list(supervisor.children)
    started = time.monotonic()
    supervisor.close()
    assert time.monotonic() - started < 5.0
    assert all(gone(pid, 0.0) for pid in [*pids, server.pid])
    assert gone(stray)
    assert server.returncode == 0
    for guest in guests:
        guest.port.wire.close()
    assert open_descriptors().keys() == held.keys()
    assert litter() == littered
    supervisor.close()
