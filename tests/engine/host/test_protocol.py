"""Frames: whole, cut, too long, garbled; deadlines; descriptors that come along."""

import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from cacheon.engine.protocol import (
    WORKER_FRAME,
    AnyCommand,
    AnyReply,
    Call,
    Closed,
    Done,
    EndWorker,
    Facts,
    Garbled,
    InlinePort,
    Load,
    MakeSlab,
    ProcessPort,
    Raised,
    Replay,
    Stop,
    TooSlow,
    Where,
    Wire,
)
from cacheon.engine.request import Candidate

RAISED = Raised(
    kind="ValueError",
    message="three words here",
    where=Where(file="k.py", line=3, function="f", source="raise ValueError"),
    rule="CG801",
)


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, ProcessPort]]:
    """The worker's bare socket, and the grader's port to it."""
    theirs, ours = socket.socketpair()
    port = ProcessPort(ours)
    yield theirs, port
    theirs.close()
    port.wire.close()


def receive(port: ProcessPort, seconds: float = 5.0) -> AnyReply:
    return port.wire.receive(seconds)


# --- what comes through ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message", [Done(), Done(nodes=(1, 2, 3), kinds={"kernel": 3}, handle=b"\1" * 64), RAISED]
)
def test_a_message_comes_through_whole_however_it_is_cut(message: AnyReply) -> None:
    frame = framed(msgspec.msgpack.encode(message))
    for cut in range(len(frame)):
        theirs, ours = socket.socketpair()
        with theirs, ours:
            wire: Wire[AnyCommand, AnyReply] = Wire(ours, AnyReply, limit=WORKER_FRAME)
            theirs.sendall(frame[:cut])
            with pytest.raises(TooSlow):
                wire.receive(0.0)
            theirs.sendall(frame[cut:])
            assert wire.receive(5.0) == message


def test_messages_in_one_piece_come_one_by_one(ends: tuple[socket.socket, ProcessPort]) -> None:
    theirs, port = ends
    messages: list[AnyReply] = [Done(steps=number) for number in range(50)]
    theirs.sendall(b"".join(framed(msgspec.msgpack.encode(message)) for message in messages))
    assert [receive(port) for _ in messages] == messages


def test_both_ways(ends: tuple[socket.socket, ProcessPort]) -> None:
    theirs, port = ends
    worker: Wire[AnyReply, AnyCommand] = Wire(theirs, AnyCommand, limit=WORKER_FRAME)
    heard: list[AnyCommand] = []

    def serve() -> None:
        while not isinstance(command := worker.receive(5.0), Stop):
            heard.append(command)
            worker.send(Done(steps=len(heard)))

    thread = threading.Thread(target=serve)
    thread.start()
    candidate = Candidate(root="/r", source="s.py", entry="f")
    said: list[AnyCommand] = [
        MakeSlab(nbytes=4096),
        Load(candidate=candidate, caches="/c"),
        Call(case=3, which=-1, delay=False),
        Replay(case=0, times=32),
    ]
    assert [port.ask(command, 5.0) for command in said] == [Done(steps=n) for n in (1, 2, 3, 4)]
    port.wire.send(Stop())
    thread.join()
    assert heard == said


def test_the_inline_port_calls_at_once() -> None:
    heard: list[AnyCommand] = []

    def handle(command: AnyCommand) -> AnyReply:
        heard.append(command)
        return RAISED

    port = InlinePort(handle, lambda: "the slab")
    assert port.ask(Stop(), 1.0) == RAISED
    assert heard == [Stop()]
    assert port.slab() == "the slab"


# --- what does not -----------------------------------------------------------------------------

GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "text": b"Traceback (most recent call last)",
    "a number": b"\x07",
    "null": b"\xc0",
    "never used": b"\xc1",
    "an array": msgspec.msgpack.encode(["done"]),
    "no tag": msgspec.msgpack.encode({"nodes": []}),
    "an unknown tag": msgspec.msgpack.encode({"reply": "finished"}),
    "a command's tag": msgspec.msgpack.encode(Stop()),
    "two messages": msgspec.msgpack.encode(Done()) * 2,
    "cut short": msgspec.msgpack.encode(RAISED)[:-3],
    "an unknown field": msgspec.msgpack.encode({"reply": "done", "passed": True}),
    "a missing field": msgspec.msgpack.encode({"reply": "raised", "kind": "E"}),
    "a wrong type": msgspec.msgpack.encode({"reply": "done", "nodes": ["1"]}),
    "a number for a flag": msgspec.msgpack.encode({"reply": "done", "returned": 1}),
    "a float for a count": msgspec.msgpack.encode({"reply": "done", "steps": 1.5}),
    "a negative count": msgspec.msgpack.encode({"reply": "done", "steps": -1}),
    "a huge count": msgspec.msgpack.encode({"reply": "done", "steps": 1 << 63}),
    "too many nodes": msgspec.msgpack.encode({"reply": "done", "nodes": [1] * 9}),
    "too many kinds": msgspec.msgpack.encode(
        {"reply": "done", "kinds": {str(n): n for n in range(33)}}
    ),
    "a kind that no record may hold": msgspec.msgpack.encode(
        {"reply": "done", "kinds": {"kernel\x1b[2J": 1}}
    ),
    "a kind that no key may be": msgspec.msgpack.encode({"reply": "done", "kinds": {"né": 1}}),
    "a kind with an end of line": msgspec.msgpack.encode({"reply": "done", "kinds": {"host\n": 1}}),
    "a long handle": msgspec.msgpack.encode({"reply": "done", "handle": b"x" * 65}),
    "long words": msgspec.msgpack.encode({"reply": "raised", "kind": "E", "message": "m" * 2001}),
    "a rule of its own": msgspec.msgpack.encode(
        {"reply": "raised", "kind": "E", "message": "", "rule": "CG8011"}
    ),
    "a rule and more": msgspec.msgpack.encode(
        {"reply": "raised", "kind": "E", "message": "", "rule": "CG801\n"}
    ),
    "broken text": b"\x82\xa5reply\xa6raised\xa4kind\xa2\xff\xfe",
    "deep arrays": b"\x91" * 50_000,
    "deep maps": b"\x81\xa1a" * 20_000,
    "a length that lies": b"\xdf\xff\xff\xff\xff",
    "an array that lies": b"\x82\xa5reply\xa4done\xa5nodes\xdd\xff\xff\xff\xff",
    "an extension": b"\xc7\x05\x01hello",
    "a strange time": b"\xc7\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
}


@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE.keys())
def test_what_is_no_message_is_garbled(
    ends: tuple[socket.socket, ProcessPort], body: bytes
) -> None:
    theirs, port = ends
    theirs.sendall(framed(body))
    with pytest.raises(Garbled):
        receive(port)


def test_a_frame_at_the_limit_is_read_and_one_beyond_it_is_not_waited_for() -> None:
    theirs, ours = socket.socketpair()
    message = Raised(kind="E", message="m" * 1000)
    body = msgspec.msgpack.encode(message)
    with theirs, ours:
        wire: Wire[AnyCommand, AnyReply] = Wire(ours, AnyReply, limit=len(body))
        theirs.sendall(framed(body))
        assert wire.receive(5.0) == message
        theirs.sendall((len(body) + 1).to_bytes(4, "big"))
        started = time.monotonic()
        with pytest.raises(Garbled, match=f"a frame of {len(body) + 1} bytes"):
            wire.receive(60.0)
        assert time.monotonic() - started < 10


def test_the_longest_length_that_can_be_said(ends: tuple[socket.socket, ProcessPort]) -> None:
    theirs, port = ends
    theirs.sendall(b"\xff\xff\xff\xff" + b"x" * 100)
    with pytest.raises(Garbled, match="4294967295"):
        receive(port)


def test_the_longest_honest_reply_fits() -> None:
    text, short = "\U0001f600" * 2000, "\U0001f600" * 300
    where = Where(file=short, line=10_000_000, function=short, source=short)
    kinds = {"k" * 38 + f"{n:02}": 1 << 40 for n in range(32)}
    done = Done(handle=b"h" * 64, nodes=(1 << 40,) * 8, kinds=kinds, suspicious=(short,) * 16)
    warmed = Done(waits=(where,) * 4)
    for reply in (Raised(kind=short, message=text, where=where), done, warmed):
        assert len(msgspec.msgpack.encode(reply)) <= WORKER_FRAME


def test_bytes_that_were_damaged_on_the_way_are_a_message_or_garbled() -> None:
    """Nothing but `Garbled` comes out of a decoder, whatever is put into it."""
    draw = random.Random(7)
    wire: Wire[AnyCommand, AnyReply] = Wire(socket.socket(), AnyReply, limit=WORKER_FRAME)
    honest = [msgspec.msgpack.encode(m) for m in (Done(nodes=(1, 2), kinds={"k": 1}), RAISED)]
    understood = 0
    for _ in range(20_000):
        body = bytearray(draw.choice(honest))
        for _ in range(draw.randint(1, 3)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        try:
            assert isinstance(wire._decode(bytes(body)), Done | Raised)
            understood += 1
        except Garbled:
            continue
    assert 0 < understood < 20_000
    wire.close()


# --- the other end -----------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"\0\0", framed(msgspec.msgpack.encode(RAISED))[:-1]])
def test_an_end_that_is_gone_is_closed(
    ends: tuple[socket.socket, ProcessPort], sent: bytes
) -> None:
    theirs, port = ends
    theirs.sendall(sent)
    theirs.close()
    with pytest.raises(Closed):
        receive(port)


def test_what_was_said_before_leaving_is_still_heard(
    ends: tuple[socket.socket, ProcessPort],
) -> None:
    theirs, port = ends
    theirs.sendall(framed(msgspec.msgpack.encode(RAISED)))
    theirs.close()
    assert receive(port) == RAISED
    with pytest.raises(Closed):
        receive(port)


def test_sending_to_nobody_is_closed_and_no_signal(
    ends: tuple[socket.socket, ProcessPort],
) -> None:
    theirs, port = ends
    theirs.close()
    with pytest.raises(Closed):
        port.ask(Stop(), 1.0)


def test_an_end_that_resets_is_closed(ends: tuple[socket.socket, ProcessPort]) -> None:
    theirs, port = ends
    port.wire.send(Stop())
    # Unread bytes in its queue turn the end of the stream into a reset.
    theirs.close()
    with pytest.raises(Closed):
        receive(port)


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_silence_ends_at_the_deadline(
    ends: tuple[socket.socket, ProcessPort], seconds: float
) -> None:
    _, port = ends
    started = time.monotonic()
    with pytest.raises(TooSlow):
        receive(port, seconds)
    assert seconds <= time.monotonic() - started < seconds + 5.0


def test_a_drop_at_a_time_does_not_move_the_deadline(
    ends: tuple[socket.socket, ProcessPort],
) -> None:
    theirs, port = ends
    frame = framed(msgspec.msgpack.encode(RAISED))
    over = threading.Event()

    def drip() -> None:
        for byte in frame:
            if over.wait(0.05):
                return
            theirs.sendall(bytes([byte]))

    thread = threading.Thread(target=drip)
    thread.start()
    started = time.monotonic()
    with pytest.raises(TooSlow):
        receive(port, 0.4)
    assert time.monotonic() - started < 4 < len(frame) * 0.05
    over.set()
    thread.join()


# --- descriptors -------------------------------------------------------------------------------


def through(limit: int = WORKER_FRAME) -> tuple[Wire[Any, Any], Wire[Any, Any]]:
    one, other = socket.socketpair()
    return (
        Wire(one, AnyReply, limit=limit),
        Wire(other, EndWorker | Facts, limit=limit),
    )


def test_descriptors_come_along_in_their_order() -> None:
    sender, receiver = through()
    pipes = [os.pipe() for _ in range(2)]
    sender.send(EndWorker(worker=1), tuple(write for _, write in pipes))
    sender.send(EndWorker(worker=2))
    assert [receiver.receive(5.0).worker for _ in range(2)] == [1, 2]
    for number, (read, write) in enumerate(pipes):
        os.close(write)
        came = receiver.descriptor()
        assert not os.get_inheritable(came)
        os.write(came, bytes([number]))
        os.close(came)
        assert os.read(read, 10) == bytes([number])
        os.close(read)
    with pytest.raises(Garbled, match="did not come"):
        receiver.descriptor()
    sender.close()
    receiver.close()


def test_descriptors_that_nobody_took_end_with_the_wire() -> None:
    sender, receiver = through()
    before = open_descriptors()
    read, write = os.pipe()
    sender.send(EndWorker(worker=1), (write, write))
    receiver.receive(5.0)
    os.close(write)
    receiver.close()
    assert os.read(read, 1) == b""
    os.close(read)
    sender.close()
    assert len(open_descriptors()) == len(before) - 2


def flooding(theirs: socket.socket, frames: Callable[[], bytes]) -> None:
    read, write = os.pipe()
    for _ in range(200):
        socket.send_fds(theirs, [frames()], [read, write, read, write])
    os.close(read)
    os.close(write)


def test_a_worker_cannot_fill_the_graders_table_with_descriptors(
    ends: tuple[socket.socket, ProcessPort],
) -> None:
    theirs, port = ends
    before = open_descriptors()
    flooding(theirs, lambda: framed(msgspec.msgpack.encode(Done())))
    assert [receive(port) for _ in range(200)] == [Done()] * 200
    assert len(open_descriptors()) <= len(before)
    with pytest.raises(Garbled):
        port.wire.descriptor()


# --- unasked -------------------------------------------------------------------------------------


DONE = framed(msgspec.msgpack.encode(Done()))


def test_an_answer_is_asked_for(ends: tuple[socket.socket, ProcessPort]) -> None:
    theirs, port = ends
    port.wire.expect_silence()
    theirs.sendall(DONE)
    with pytest.raises(Garbled, match="without being asked"):
        port.ask(Stop(), 1.0)


@pytest.mark.parametrize("more", [DONE, DONE[:1], DONE[:6]])
def test_what_came_with_an_answer_is_no_answer_to_the_next(
    ends: tuple[socket.socket, ProcessPort], more: bytes
) -> None:
    theirs, port = ends
    theirs.sendall(DONE + more)
    assert port.wire.receive(1.0) == Done()
    with pytest.raises(Garbled, match="without being asked"):
        port.ask(Stop(), 1.0)
    with pytest.raises(BlockingIOError):
        theirs.recv(1, socket.MSG_DONTWAIT)


def test_an_end_that_left_in_silence_is_closed(ends: tuple[socket.socket, ProcessPort]) -> None:
    theirs, port = ends
    theirs.close()
    with pytest.raises(Closed):
        port.wire.expect_silence()
