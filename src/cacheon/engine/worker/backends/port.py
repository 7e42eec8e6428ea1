"""What a harness asks of a backend. `tests/engine/backends` holds both against it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch

from cacheon.engine.ledger import Ledger
from cacheon.engine.plan import CallPlan
from cacheon.engine.slab import Slab

if TYPE_CHECKING:
    from cacheon.engine.worker.waits import Waits

Entry = Callable[..., object]


class Bound(NamedTuple):
    """A call ready to be made: its plan, and a function that makes fresh arguments.

    The tensors of each call are new objects over the same memory, as a server's are."""

    plan: CallPlan
    arguments: Callable[[], list[object]]


class Captured(NamedTuple):
    """What a capture showed; the fields are those of `protocol.Done`."""

    nodes: tuple[int, ...]
    kinds: dict[str, int]
    suspicious: tuple[str, ...]
    steps: int


class Failure(Exception):
    """A fault that the backend itself knows by its rule."""

    def __init__(self, rule: str, message: str, *, needs_cuda: bool = False) -> None:
        super().__init__(message)
        self.rule = rule
        self.needs_cuda = needs_cuda


class Backend(Protocol):
    """One device's way of running, capturing and replaying an entry."""

    name: str
    device: torch.device
    waits: "Waits"
    """Lines of the candidate that waited for the device in the last warm-up."""

    def make_slab(self, nbytes: int, memfd: int) -> tuple[Slab, bytes]:
        """The slab, and the handle by which another process maps it. On a CPU it lies in
        `memfd`; -1 asks for memory that nobody else maps."""
        ...

    def make_pieces(self, nbytes: int, starts: Sequence[int]) -> tuple[Slab, tuple[bytes, ...]]:
        """A slab of several allocations, which begin at `starts`, and the handle of each."""
        ...

    def arrange(self, slab: Slab, counter: int) -> None:
        """Take the slab into use; `counter` is the byte offset of the replay counter."""
        ...

    def join(self, rank: int, skew: int, ledger: Ledger) -> None:
        """From now on this worker is a rank: delays drawn from `skew` come between its
        calls, and collectives of a replay are noted where they are known."""
        ...

    def warm(self, calls: Sequence[Bound], entry: Entry) -> None:
        """Call the entry twice with each, on a stream that is not the capture stream, and
        note in `waits` where the second call waits for the device."""
        ...

    def eager(self, call: Bound, entry: Entry, times: int, delay: bool) -> bool:
        """Eager sandwiches; whether the entry ever returned something."""
        ...

    def capture(self, case: int, calls: Sequence[Bound], entry: Entry, sibling: bool) -> Captured:
        """Capture the calls, each in its own sandwich, into the shared pool."""
        ...

    def recapture(self, calls: Sequence[Bound], entry: Entry, times: int) -> None:
        """Capture into a pool of its own and throw the graph away, again and again."""
        ...

    def replay(self, case: int, times: int) -> None:
        """Replay without the entry's Python, back to back, and wait."""
        ...

    def collect(self) -> None:
        """Collect garbage and give cached memory back."""
        ...

    def drop_siblings(self) -> None: ...

    def refill(self) -> None:
        """Take freed memory and fill it with a canary."""
        ...

    def inspect(self) -> None:
        """Raise Failure CG302 where a canary was written: by a graph that still holds an
        address that is nobody's any more. Broken canaries are renewed."""
        ...

    def release(self) -> None:
        """Let go of what `refill` took."""
        ...

    def is_lost(self, error: BaseException) -> bool:
        """Whether the device context is beyond repair after this error."""
        ...
