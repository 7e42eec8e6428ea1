"""What the walk of a source tells the detectors, in the order of execution."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from cacheon.contract.slots.model import Slot
from cacheon.scan.values import Names, Value

Effect = tuple[str, ...]
"""What outlives the call: ("write", name, part), ("pass", name) to code that is not seen,
("keep" | "read" | "hold" | "take" | "drop", holder), ("collective", name), ("foreign", name);
("ranked", kind, name): on some ranks only; ("send",): somewhere a send is named."""
How = Literal["name", "key", "item", "cached", "evicting", "counted"]
"""A value was bound to a name of the state, put under a key, appended, remembered by a
decorator (which may evict it again), or is a number that was made from itself."""
Phase = Literal["load", "first", "eager", "replay"]
"""When a line runs: at load or in `prepare`; in the first call only; only while no
capture is on; in every call, and so under capture."""


@dataclass(frozen=True)
class Root:
    """A function that is called from outside: a bundle's entry or `prepare` with its slot
    and the names of its arguments there, or one of a library that takes tensors."""

    path: str
    name: str
    line: int
    phase: Phase
    slot: Slot | None = field(default=None, compare=False)
    arguments: tuple[str, ...] = ()

    def tensors(self, *roles: str, dynamic: bool | None = None) -> Names:
        """The arguments that are tensors of these roles."""
        return frozenset(
            tensor.name
            for tensor in (self.slot.tensors if self.slot is not None else ())
            if tensor.name in self.arguments
            and tensor.role in roles
            and dynamic in (None, tensor.dynamic)
        )

    @property
    def inputs(self) -> Names:
        return self.tensors("activation", "weight")

    @property
    def outputs(self) -> Names:
        return self.tensors("output")


class Context(msgspec.Struct, frozen=True):
    """Where the walk is."""

    root: Root
    path: str
    function: str
    phase: Phase
    facts: Names = frozenset()


class Event(msgspec.Struct, frozen=True, eq=False):
    node: ast.AST
    context: Context


class Called(Event, frozen=True, eq=False):
    """`name`: the outside function (`torch.cuda.synchronize`), the method of an instance
    (`torch.cuda.Event.query`) or `Tensor.item`. `receiver`: what a method belongs to."""

    name: str
    arguments: tuple[Value, ...]
    keywords: Mapping[str, Value]
    receiver: Value | None = None

    @property
    def operands(self) -> tuple[Value, ...]:
        first = (self.receiver,) if self.receiver is not None else ()
        return (*first, *self.arguments, *self.keywords.values())


class Tested(Event, frozen=True, eq=False):
    """A truth value was asked for: `if`, `while`, `assert`, `not`, `and`, `or`."""

    value: Value


class Shown(Event, frozen=True, eq=False):
    """A value was formatted into a text."""

    value: Value


class Indexed(Event, frozen=True, eq=False):
    """`base[index]`, read (`stored` is None) or written."""

    base: Value
    index: tuple[Value, ...]
    sliced: tuple[Value, ...]
    stored: Value | None = None


class Wrote(Event, frozen=True, eq=False):
    """Memory of `target` was written in place. `how`: the method or the way."""

    target: Value
    how: str
    source: Value | None = None


class Kept(Event, frozen=True, eq=False):
    """`value` was put into module state `holder`."""

    holder: str
    how: How
    value: Value
    key: Value | None = None


class Launched(Event, frozen=True, eq=False):
    """A Triton kernel was launched; `arguments` by parameter. `overshoots`: its last
    blocks lie past the end, and it stores without a mask."""

    kernel: str
    arguments: Mapping[str, Value]
    overshoots: bool = False


class Looped(Event, frozen=True, eq=False):
    """A `while` loop that nothing within leaves, and whose test stays true; on some ranks
    only where it is `ranked`."""

    ranked: bool = False


class Raised(Event, frozen=True, eq=False):
    """The way of an arm that comes to no other end: it raises, or `leaves` the process."""

    leaves: bool = False


class Branched(Event, frozen=True, eq=False):
    """A branch on `topic` ("capture" or "rank"), one of the `topics` of its test, and what
    its two arms do to anything that outlives the call; `ends`: how they surely end.
    `reduced`: whether a collective was called before. `sure`: whether every call comes
    here, with every rank."""

    topic: str
    then: frozenset[Effect]
    otherwise: frozenset[Effect]
    topics: Names = frozenset()
    ends: tuple[Raised | None, Raised | None] = (None, None)
    reduced: bool = False
    sure: bool = False


class Streamed(Event, frozen=True, eq=False):
    """`wait`: stream `which` was made to wait for stream `on` ("" for an event of any);
    `use`: work was put on it."""

    step: Literal["wait", "use"]
    which: str
    on: str = ""


class Ended(Event, frozen=True, eq=False):
    """The root was walked. `returned`: its results; `falls`: its end can be reached;
    `used`: arguments whose memory something was done with; `read`: arguments looked at
    at all; `effects`: what outlived the call."""

    returned: tuple[tuple[ast.AST, Value], ...]
    falls: bool
    used: Names
    read: Names
    effects: frozenset[Effect]
