"""What a worker sends: frames of `engine.protocol`, decoded by the grader's end of the wire."""

import socket

import msgspec
from tests.fuzz.targets.target import Target

from cacheon.engine.protocol import (
    WORKER_FRAME,
    AnyReply,
    Closed,
    Done,
    Garbled,
    ProcessPort,
    Raised,
    TooSlow,
    Where,
)

_WHERE = Where(file="kernels/k.py", line=3, function="f", source="raise ValueError")
_HONEST: tuple[AnyReply, ...] = (
    Done(),
    Done(handle=b"\1" * 64, returned=True, nodes=(1, 2, 3), steps=1 << 40),
    Done(kinds={"kernel": 3, "memcpy": 1}, suspicious=("a copy from host memory",)),
    Raised(kind="ValueError", message="three words here", where=_WHERE, rule="CG801"),
    Raised(kind="E", message="", needs_cuda=True, sticky=True, at_end=True, ours=True),
)


def check(data: bytes) -> bool:
    """1. Messages, until the stream ends or is garbled; nothing else. 2. A message that came
    means the same when it is sent again."""
    came = []
    theirs, ours = socket.socketpair()
    port = ProcessPort(ours)
    with theirs, ours:
        # What does not fit into the socket's buffer is not sent: nobody reads meanwhile.
        theirs.setblocking(False)
        theirs.send(data)
        theirs.shutdown(socket.SHUT_WR)
        try:
            while True:
                came.append(port.greeting(1.0))
        except (Closed, Garbled):
            pass
        except TooSlow as error:
            raise AssertionError("it waited for more than there was") from error
    for message in came:
        assert isinstance(message, Done | Raised)
        body = msgspec.msgpack.encode(message)
        assert len(body) <= WORKER_FRAME
        assert msgspec.msgpack.decode(body, type=AnyReply) == message
    return bool(came)


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def seeds() -> list[bytes]:
    frames = [_framed(msgspec.msgpack.encode(message)) for message in _HONEST]
    return [*frames, b"".join(frames), frames[3] + b"\0"]


TARGET = Target(
    "frames",
    check,
    seeds,
    words=(
        b"\0\0\0\0", b"\0\1\0\0", b"\0\1\0\1", b"\xff\xff\xff\xff", b"\xa5reply", b"\xa4done",
        b"\xa6raised", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff", b"\xc1", b"\xc7\x05\x01hello", b"\xd6\xff\0\0\0\0", b"\xc0",
        b"\xcb\x7f\xf8\0\0\0\0\0\0", b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", b"\xa2\xff\xfe",
        b"\xd3\x80\0\0\0\0\0\0\0",
    ),
)  # fmt: skip
