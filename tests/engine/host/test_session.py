"""A session over a worker that says what the test wants it to say."""

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
import torch
from tests.conftest import EXAMPLES

from cacheon.bundle import open_bundle
from cacheon.contract.case import Case
from cacheon.contract.slots import slot
from cacheon.engine.grader.recruits import Recruits
from cacheon.engine.grader.session import Lost, Refused, Session
from cacheon.engine.grader.truth import Truth
from cacheon.engine.protocol import (
    TRUSTED_FRAME,
    WORKER_FRAME,
    AnyCommand,
    AnyReply,
    Arrange,
    Capture,
    Closed,
    Done,
    Ended,
    MakeSlab,
    ProcessPort,
    Raised,
    Stop,
    Where,
    Wire,
)
from cacheon.engine.request import Budget, DeviceFacts
from cacheon.records.errors import InfrastructureError
from cacheon.workflows.options import Options
from cacheon.workflows.selection import request_for

SLOT = "norm.rmsnorm"
QUICK = Budget(command=0.3, compile=0.9)
UP = Done()
LEAVE = object()
SILENCE = object()

Saying = AnyReply | bytes | object


def one_case() -> tuple[Case, ...]:
    bundle = open_bundle(EXAMPLES / "good" / "torch_rmsnorm")
    facts = DeviceFacts(device="cpu", name="cpu", architecture="", torch="")
    request = request_for(bundle.variants[0], Path("/nowhere"), Options(), facts, seed=3)
    applicable = [case for case in request.cases if case.applicable]
    return (min(applicable, key=lambda case: sum(t.span for t in case.tensors)),)


class Puppet:
    """The worker's end: hears commands, answers as it is told, and keeps what it heard."""

    def __init__(self, answer: Callable[[AnyCommand], Saying], greeting: Saying) -> None:
        theirs, self.ours = socket.socketpair()
        self.wire: Wire[AnyReply, AnyCommand] = Wire(theirs, AnyCommand, limit=TRUSTED_FRAME)
        self.answer, self.heard = answer, list[AnyCommand]()
        self.descriptors: list[int] = []
        self.greeting = greeting
        self.thread = threading.Thread(target=self._live)
        self.thread.start()

    def _live(self) -> None:
        try:
            if self._say(self.greeting):
                while True:
                    command = self.wire.receive(10.0)
                    self.heard.append(command)
                    if isinstance(command, MakeSlab) and command.shared:
                        self.descriptors.append(self.wire.descriptor())
                    if isinstance(command, Stop) or not self._say(self.answer(command)):
                        return
        except Closed:
            return
        finally:
            self.wire.close()

    def _say(self, what: Saying) -> bool:
        if what is LEAVE:
            return False
        if isinstance(what, bytes):
            self.wire.sock.sendall(what)
        elif isinstance(what, Done | Raised):
            self.wire.send(what)
        return True


class PuppetKeeper:
    def __init__(self, answer: Callable[[AnyCommand], Saying], greeting: Saying = UP) -> None:
        self.puppet = Puppet(answer, greeting)
        self.ended: list[tuple[int, bool]] = []

    def start(self, device: int) -> tuple[int, ProcessPort]:
        return 41, ProcessPort(self.puppet.ours)

    def locate(self, workers: Sequence[int]) -> tuple[Where | None, ...]:
        raise AssertionError("one worker is asked as it is ended")

    def end(self, worker: int, hung: bool, killed: bool) -> Ended:
        self.ended.append((worker, hung))
        return Ended(status=0)

    def quiet(self) -> None:
        raise AssertionError("a CPU is never asked to be quiet")


def opened(keeper: PuppetKeeper) -> Session:
    cases = one_case()
    truth = Truth(SLOT, 3, torch.device("cpu"))
    (recruit,) = Recruits(keeper, 1, "", 5).take()
    return Session(keeper, slot(SLOT), cases, None, (2,), QUICK, truth, True, 0, recruit)


def willing(answer: Saying) -> Callable[[AnyCommand], Saying]:
    """A worker that can be set up, and then says this to everything."""
    return lambda command: Done() if isinstance(command, MakeSlab | Arrange) else answer


Start = Callable[..., PuppetKeeper]


@pytest.fixture
def keeper() -> Iterator[Start]:
    made: list[PuppetKeeper] = []
    # What earlier tests left would be closed in the middle of this one.
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))

    def one(answer: Callable[[AnyCommand], Saying], greeting: Saying = UP) -> PuppetKeeper:
        made.append(PuppetKeeper(answer, greeting))
        return made[-1]

    yield one
    for each in made:
        each.puppet.thread.join()
        for descriptor in each.puppet.descriptors:
            os.close(descriptor)
    # A caught exception holds its frames, and they the slab.
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) == before


# --- set up --------------------------------------------------------------------------------------


def test_a_worker_is_set_up_before_any_candidate(keeper: Start) -> None:
    host = keeper(willing(Done()))
    session = opened(host)
    slab, arrange = host.puppet.heard
    assert slab == MakeSlab(nbytes=session.layout.nbytes, shared=True)
    assert arrange == Arrange(plan=session.layout.plan)
    # The worker's descriptor is the very memory into which the weights were put.
    shared = os.pread(host.puppet.descriptors[0], session.layout.nbytes, 0)
    assert len(shared) == session.layout.nbytes
    for (name, shape, layer), ref in session.layout.weights.items():
        expected = session.slab.tensor(ref)
        placed = shared[ref.offset : ref.offset + expected.numel() * expected.element_size()]
        assert placed == expected.view(torch.uint8).numpy().tobytes(), (name, shape, layer)
        assert any(placed)
    assert session.close() == Ended(status=0)
    assert host.ended == [(41, False)]
    assert isinstance(host.puppet.heard[-1], Stop)


def test_the_slab_can_neither_shrink_nor_grow(keeper: Start) -> None:
    host = keeper(willing(Done()))
    session = opened(host)
    for nbytes in (0, session.layout.nbytes - 4096, session.layout.nbytes + 4096):
        with pytest.raises(PermissionError):
            os.ftruncate(host.puppet.descriptors[0], nbytes)
    session.close()


GARBLED = b"\0\0\0\2hi"
TOO_LONG = (WORKER_FRAME + 1).to_bytes(4, "big")
RAISED = Raised(kind="OSError", message="no memory")


@pytest.mark.parametrize("greeting", [LEAVE, GARBLED, TOO_LONG, RAISED])
def test_a_worker_that_does_not_come_up_is_infrastructure(keeper: Start, greeting: Saying) -> None:
    host = keeper(willing(Done()), greeting)
    with pytest.raises(InfrastructureError, match=r"a worker (was lost|could not be set up)"):
        opened(host)
    assert host.ended == [(41, False)]


@pytest.mark.parametrize("answer", [LEAVE, GARBLED, TOO_LONG, RAISED])
@pytest.mark.parametrize("at", [MakeSlab, Arrange])
def test_so_is_one_that_cannot_be_set_up(keeper: Start, at: type, answer: Saying) -> None:
    host = keeper(lambda command: answer if isinstance(command, at) else Done())
    with pytest.raises(InfrastructureError, match=r"a worker (was lost|could not be set up)"):
        opened(host)
    assert host.ended == [(41, False)]


# --- asking --------------------------------------------------------------------------------------


def test_an_answer_is_handed_on(keeper: Start) -> None:
    session = opened(keeper(willing(Done(nodes=(1, 2, 3)))))
    assert session.ask(Capture(case=0), "capture", 0) == Done(nodes=(1, 2, 3))
    session.close()


def test_an_exception_of_the_candidate_is_a_refusal(keeper: Start) -> None:
    session = opened(keeper(willing(RAISED)))
    with pytest.raises(Refused) as caught:
        session.ask(Capture(case=0), "capture", 0)
    assert (caught.value.reply, caught.value.stage, caught.value.case) == (RAISED, "capture", 0)
    # The worker can be asked again.
    with pytest.raises(Refused):
        session.ask(Capture(case=0), "capture", 0)
    session.close()


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        (LEAVE, "died"),
        (GARBLED, "garbled"),
        (TOO_LONG, "garbled"),
        (b"\0\0\0\0", "garbled"),
        (msgspec.structs.replace(RAISED, sticky=True), "sticky"),
        (SILENCE, "hung"),
        (b"\0\0", "hung"),
    ],
)
def test_a_worker_that_can_answer_no_more_is_lost(keeper: Start, answer: Saying, how: str) -> None:
    host = keeper(willing(answer))
    session = opened(host)
    with pytest.raises(Lost) as caught:
        session.ask(Capture(case=0), "capture", 0)
    lost = caught.value
    assert (lost.how, lost.stage, lost.case) == (how, "capture", 0)
    session.close(hung=how == "hung")
    assert host.ended == [(41, how == "hung")]


@pytest.mark.parametrize(("compiles", "seconds"), [(False, QUICK.command), (True, QUICK.compile)])
def test_each_kind_of_command_has_its_deadline(
    keeper: Start, compiles: bool, seconds: float
) -> None:
    session = opened(keeper(willing(SILENCE)))
    started = time.monotonic()
    with pytest.raises(Lost, match="hung in warmup"):
        session.ask(Capture(case=0), "warmup", 0, compiles=compiles)
    assert seconds <= time.monotonic() - started < seconds + 5
    session.close(hung=True)


# --- ending --------------------------------------------------------------------------------------


def test_a_hung_worker_is_not_spoken_to_again(
    keeper: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cacheon.engine.grader.session._LEAVE", 60.0)
    host = keeper(willing(SILENCE))
    session = opened(host)
    with pytest.raises(Lost):
        session.ask(Capture(case=0), "capture", 0)
    started = time.monotonic()
    session.close(hung=True)
    assert time.monotonic() - started < 10
    assert not any(isinstance(command, Stop) for command in host.puppet.heard)


def test_one_that_does_not_leave_is_waited_for_a_moment(
    keeper: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds its end of the channel."""
    monkeypatch.setattr("cacheon.engine.grader.session._LEAVE", 0.3)
    host = keeper(willing(Done()))
    session = opened(host)
    held = host.puppet.wire.sock.dup()
    started = time.monotonic()
    session.close()
    assert 0.3 <= time.monotonic() - started < 5.0
    assert host.ended == [(41, False)]
    held.close()


def test_one_that_was_dismissed_is_told_once_more_and_ended(keeper: Start) -> None:
    host = keeper(willing(Done()))
    session = opened(host)
    session.dismiss()
    host.puppet.thread.join()
    session.close()
    assert host.ended == [(41, False)]
