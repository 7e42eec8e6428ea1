"""What grader and worker, and host and its children, say to each other.

Frames are a four-byte length and a msgpack body, decoded strictly into one of the tagged
messages below. What a worker says after it has loaded a candidate is data: every string
and every container has a limit, and nothing is ever unpickled.
"""

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

import msgspec

from cacheon.engine.outcome import ORDERS, NodeKind, OrderName
from cacheon.engine.plan import WorkerPlan
from cacheon.engine.request import Candidate, Progress, RunSettings, SeenDevice, VariantRequest
from cacheon.records.strict import Record

Text = Annotated[str, msgspec.Meta(max_length=2000)]
Short = Annotated[str, msgspec.Meta(max_length=300)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]

WORKER_FRAME = 1 << 16
"""Longest frame that a worker may send, in bytes: enough for the longest honest reply."""
TRUSTED_FRAME = 1 << 26


# --- commands: grader to worker --------------------------------------------------------


class Command(Record, tag_field="command"):
    """Something the grader asks of a worker; each is answered by one `Reply`."""


class MakeSlab(Command, tag="make_slab"):
    """Allocate `nbytes`, or, where `shared`, map the memfd that came along. `starts`: offsets,
    from 0 upwards, at which allocations of their own begin; none where there is one."""

    nbytes: int
    shared: bool = False
    starts: tuple[int, ...] = ()


class Arrange(Command, tag="arrange"):
    plan: WorkerPlan


class JoinGroup(Command, tag="join_group"):
    """Become rank `rank` of a group of `world`, which meets at the file `meeting`; before
    any candidate is loaded. The memfd of the rank's ledger comes along. `skew` seeds the
    delays between a rank's calls and nothing else: a candidate can read it."""

    rank: int
    world: int
    meeting: str
    skew: int


class Load(Command, tag="load"):
    """Import the candidate's source. `caches` is its private directory for compilers."""

    candidate: Candidate
    caches: str


class Prepare(Command, tag="prepare"):
    index: int


class Warm(Command, tag="warm"):
    case: int


class Call(Command, tag="call"):
    """One eager sandwich on set `which` (0 is A, 1 is A'); -1 is the larger call."""

    case: int
    which: int
    times: int = 1
    delay: bool = True


class Capture(Command, tag="capture"):
    """Capture a case. `sibling`: a further graph of it, to be destroyed later."""

    case: int
    sibling: bool = False


class Recapture(Command, tag="recapture"):
    """Capture a case into a pool of its own and throw the graph away, `times` times."""

    case: int
    times: int


class Replay(Command, tag="replay"):
    case: int
    times: int


class Disturb(Command, tag="disturb"):
    """One step of the perturbation that the harness itself takes."""

    step: Literal["collect", "siblings", "refill", "inspect", "release"]


class Stop(Command, tag="stop"):
    pass


AnyCommand = (
    MakeSlab
    | Arrange
    | JoinGroup
    | Load
    | Prepare
    | Warm
    | Call
    | Capture
    | Recapture
    | Replay
    | Disturb
    | Stop
)


# --- replies: worker to grader ---------------------------------------------------------


class Reply(Record, tag_field="reply"):
    """What a worker answers."""


class Where(Record):
    """A line inside the bundle, relative to its root."""

    file: Short
    line: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]
    function: Short
    source: Short


class Done(Reply, tag="done"):
    """`handle`: the slab's CUDA IPC handle, 64 bytes; `handles`: one an allocation, where the slab
    is made of several. `returned`: the entry returned something. `nodes`: what the entry's calls
    added to the graph, one count a call, -1 where it was not counted. `kinds`: nodes of the whole
    graph by kind, empty where they were not looked into. `suspicious`: what those nodes touch that
    a graph must not. `steps`: recorded steps, in rehearsal. `compiled`: compilers that ran during
    it. `waits`: lines of the candidate that waited for the device in a warm-up; for other ranks, in
    a barrier, in an eager call."""

    handle: Annotated[bytes, msgspec.Meta(max_length=64)] = b""
    handles: Annotated[
        tuple[Annotated[bytes, msgspec.Meta(max_length=64)], ...], msgspec.Meta(max_length=256)
    ] = ()
    returned: bool = False
    nodes: Annotated[tuple[int, ...], msgspec.Meta(max_length=8)] = ()
    kinds: Annotated[dict[NodeKind, Count], msgspec.Meta(max_length=32)] = {}
    suspicious: Annotated[tuple[Short, ...], msgspec.Meta(max_length=16)] = ()
    steps: Count = 0
    compiled: Annotated[tuple[Short, ...], msgspec.Meta(max_length=8)] = ()
    waits: Annotated[tuple[Where, ...], msgspec.Meta(max_length=4)] = ()


class Raised(Reply, tag="raised"):
    """An exception. `rule` is the harness's own finding where it has one. `needs_cuda`:
    the candidate asked for what no CPU can answer. `sticky`: the device context is lost
    and this worker can do nothing more. `ours`: the rehearsal's own code raised it, which is
    no fault of the candidate's; on CUDA nothing is rehearsed, and who says so there lies."""

    kind: Short
    message: Text
    where: Where | None = None
    rule: Annotated[str, msgspec.Meta(pattern=r"\A(CG[0-9]{3})?\Z")] = ""
    needs_cuda: bool = False
    sticky: bool = False
    at_end: bool = False
    ours: bool = False


AnyReply = Done | Raised


# --- host and its children ---------------------------------------------------------------


class Ask(Record, tag_field="ask"):
    """What the grader asks of the host."""


class SpawnWorker(Ask, tag="spawn"):
    """A fresh worker for the GPU of this number. The answer is `Spawned`, with one end of
    its socket attached."""

    device: int = 0


class LocateWorkers(Ask, tag="locate"):
    """Ask workers that hang for the line where they do, all before any of them is killed:
    ranks that wait for a killed one would go on. The answer is `Located`."""

    workers: tuple[int, ...]


class EndWorker(Ask, tag="end"):
    """Kill the worker if it lives, sweep what it left, say how it ended. One that `hung` is
    asked for its line first; neither it nor one to be `killed` is given time to leave."""

    worker: int
    hung: bool = False
    killed: bool = False


class WantQuiet(Ask, tag="want_quiet"):
    """The device to this grader alone, until it is done. The answer is `Quiet`, once every
    other grader is done or waits for the same."""


class Told(Ask, tag="told"):
    progress: Progress


class Facts(Ask, tag="facts"):
    """The grader is up and has seen its device. `error` says why it has none."""

    name: str
    architecture: str
    versions: dict[str, str]
    error: str = ""
    devices: tuple[SeenDevice, ...] = ()


class Examined(Ask, tag="examined"):
    """The outcome, encoded: the host need not look inside before it decodes it."""

    outcome: bytes


AnyAsk = SpawnWorker | LocateWorkers | EndWorker | WantQuiet | Told | Facts | Examined


class Tell(Record, tag_field="tell"):
    """What the host tells the grader."""


class Begin(Tell, tag="begin"):
    settings: RunSettings


class Examine(Tell, tag="examine"):
    request: VariantRequest
    caches: str
    seed: int
    orders: tuple[OrderName, ...] = ORDERS


class Spawned(Tell, tag="spawned"):
    worker: int


class Ended(Tell, tag="ended"):
    """How a worker ended. `signal` and `status` are -1 where they do not apply;
    `strays`: descendants that had left its session and outlived it; `where`: the line of
    the candidate that was running when it hung, where that is known; `output`: the first
    characters that it printed."""

    signal: int = -1
    status: int = -1
    killed: bool = False
    strays: int = 0
    where: Where | None = None
    output: Text = ""


class Located(Tell, tag="located"):
    """The line of the candidate that each worker was running, None where it is not known."""

    places: tuple[Where | None, ...]


class Quiet(Tell, tag="quiet"):
    """Nothing else uses the device."""


class Finish(Tell, tag="finish"):
    pass


AnyTell = Begin | Examine | Spawned | Located | Ended | Quiet | Finish


# --- the wire ------------------------------------------------------------------------------

Out = TypeVar("Out")
In = TypeVar("In")


class Closed(Exception):
    """The other end is gone."""


class Garbled(Exception):
    """The other end sent something that is no message."""


class TooSlow(Exception):
    """No whole message came before the deadline."""


class Wire(Generic[Out, In]):
    """Frames over one stream socket. Not shared between threads.

    After `Garbled` or `TooSlow` the stream is out of step and must be closed. Descriptors
    are taken only where `passing`: a candidate could fill our table with them."""

    def __init__(
        self, sock: socket.socket, incoming: Any, *, limit: int, passing: bool = True
    ) -> None:
        self.sock = sock
        self._passing = passing
        self._decoder = msgspec.msgpack.Decoder(incoming)
        self._encoder = msgspec.msgpack.Encoder()
        self._limit = limit
        self._pending = b""
        self._descriptors: list[int] = []

    def send(self, message: Out, descriptors: tuple[int, ...] = ()) -> None:
        """Raises `Closed` where nobody listens."""
        body = self._encoder.encode(message)
        frame = len(body).to_bytes(4, "big") + body
        try:
            sent = socket.send_fds(self.sock, [frame], list(descriptors)) if descriptors else 0
            self.sock.sendall(frame[sent:])
        except OSError as error:
            raise Closed(str(error)) from error

    def receive(self, seconds: float | None = None) -> In:
        """The next message. Raises `Closed`, `Garbled` or `TooSlow`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            if self.holds_frame:
                end = 4 + self._size()
                if end > 4 + self._limit:
                    raise Garbled(f"a frame of {end - 4} bytes")
                body, self._pending = self._pending[4:end], self._pending[end:]
                return self._decode(body)
            self._hear(deadline)

    def expect_silence(self) -> None:
        """Raises `Garbled` where somebody has spoken before being asked: it would be taken for
        the answer to what is asked next. `Closed` where nobody is there."""
        with contextlib.suppress(TooSlow):
            self._hear(time.monotonic())
        if self._pending:
            raise Garbled("it speaks without being asked")

    @property
    def holds_frame(self) -> bool:
        """Whether `receive` has what it needs already: a message that came together with an
        earlier one, of which the socket tells nobody any more."""
        size = self._size()
        return size > self._limit or 0 <= size <= len(self._pending) - 4

    def _size(self) -> int:
        """Bytes of the next frame's body; -1 before they are known."""
        return int.from_bytes(self._pending[:4], "big") if len(self._pending) >= 4 else -1

    def _hear(self, deadline: float | None) -> None:
        """More of what is said. Raises `TooSlow` or `Closed`."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            raise TooSlow
        try:
            chunk = self._read()
        except OSError as error:
            raise Closed(str(error)) from error
        if not chunk:
            raise Closed("end of stream")
        self._pending += chunk

    def _read(self) -> bytes:
        if not self._passing:
            return self.sock.recv(1 << 16)
        chunk, descriptors, _, _ = socket.recv_fds(self.sock, 1 << 16, 4)
        for descriptor in descriptors:
            # `recv_fds` drops its flags, MSG_CMSG_CLOEXEC among them.
            os.set_inheritable(descriptor, False)
        self._descriptors += descriptors
        return chunk

    def _decode(self, body: bytes) -> In:
        try:
            message: In = self._decoder.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Garbled(str(error)[:200]) from error
        return message

    def descriptor(self) -> int:
        """A descriptor that came along with an earlier message, oldest first."""
        if not self._descriptors:
            raise Garbled("a descriptor was promised and did not come")
        return self._descriptors.pop(0)

    def close(self) -> None:
        self.sock.close()
        while self._descriptors:
            os.close(self._descriptors.pop())


class Port(Protocol):
    """Where the grader puts its commands. Process form: a `Wire` to a worker. Inline
    form: the harness itself, called directly."""

    def ask(self, command: AnyCommand, seconds: float) -> AnyReply: ...


class ProcessPort:
    """A worker in a process of its own."""

    def __init__(self, sock: socket.socket) -> None:
        self.wire = Wire[AnyCommand, AnyReply](sock, AnyReply, limit=WORKER_FRAME, passing=False)

    def greeting(self, seconds: float) -> AnyReply:
        """What a worker says once, when it is up."""
        return self.wire.receive(seconds)

    def ask(
        self, command: AnyCommand, seconds: float, descriptors: tuple[int, ...] = ()
    ) -> AnyReply:
        self.wire.expect_silence()
        self.wire.send(command, descriptors)
        return self.wire.receive(seconds)


class InlinePort:
    """The harness in this very process: no deadline can be enforced on it."""

    def __init__(self, handle: Callable[[AnyCommand], AnyReply], slab: Callable[[], Any]) -> None:
        self._handle = handle
        self.slab = slab

    def ask(self, command: AnyCommand, seconds: float) -> AnyReply:
        return self._handle(command)
