"""What the scan knows of a value without running anything.

A value that is not known for certain is `Unknown`, and no rule fires on it: a scan that
cries wolf is switched off. `held` names the module state that a value was read from, in
the form `path:NAME`; `shares` the arguments (and module state) whose memory it lies in;
`holds` the arguments whose contents it was computed from.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Literal

import msgspec
from msgspec.structs import replace

Names = frozenset[str]
Place = Literal["device", "host", ""]
NONE: Names = frozenset()
CAPTURING, EAGER, LAZY, READY = "capturing", "eager", "lazy", "ready"
RANKED = "ranked"
GROWN, OUTGROWN = "grown ", "outgrown "
"""Facts that hold in an arm of a branch: a capture is on; none is; module state is not
there yet; it is; perhaps not every rank is here. With the state's name behind them: a buffer
was too small; a number that may be a buffer's size was."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    held: str = ""
    shares: Names = NONE
    holds: Names = NONE


class Unknown(Value, frozen=True, kw_only=True):
    pass


class Host(Value, frozen=True, kw_only=True):
    """A number, a text, a shape. `constant`: a text, a boolean or None that stands in the
    source. `addresses`: arguments whose address is in it. `topics`: what it is about
    ("capture", "rank", "device"). `when` and `unless`: facts where it is true, and where
    not."""

    constant: str | bool | None = None
    known: bool = False
    addresses: Names = NONE
    topics: Names = NONE
    when: Names = NONE
    unless: Names = NONE


class Tensor(Value, frozen=True, kw_only=True):
    """`place`: where its memory is; "" where that is not known. `mask`: of booleans.
    `part`: the slice of an argument that it is, as written, or "clone". `fresh`: allocated
    by the call. `copies`: the arguments and the state that it may be a copy of."""

    place: Place = "device"
    mask: bool = False
    pinned: bool = False
    fresh: bool = False
    part: str = ""
    copies: Names = NONE


class Group(Value, frozen=True, kw_only=True):
    """A tuple, list or mapping. `items` where each is known, else None; `every`: what any
    of them may be. `literal`: a list that was written out or made by a comprehension.
    `keys`: of a mapping whose items are known, their names."""

    items: tuple[Value, ...] | None = None
    every: Value = Unknown()
    literal: bool = False
    keys: tuple[str, ...] = ()


class Symbol(Value, frozen=True, kw_only=True):
    """A name that an import leads to, such as `torch.cuda.synchronize`."""

    name: str


class Made(Value, frozen=True, kw_only=True):
    """An instance of an outside class; `which` tells two of them apart."""

    name: str
    which: str = ""


class Method(Value, frozen=True, kw_only=True):
    """A method of a tensor, a group or an instance, before it is called."""

    receiver: Value
    attr: str


class Function(Value, frozen=True, kw_only=True):
    """A function of the sources, by where it is defined. `instance`: the object that it
    is bound to. `scope`: tells apart those that a decorator made in several calls.
    `graphed`: compiled so that a call of it captures, and replays, a graph of its own."""

    path: str
    line: int
    name: str
    instance: Value | None = None
    scope: int = 0
    graphed: bool = False


class Either(Value, frozen=True, kw_only=True):
    """One of several functions: which, only a run decides."""

    options: tuple[Function, ...]


class Partial(Value, frozen=True, kw_only=True):
    """Something to call, with arguments that it is given already."""

    target: Value
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()


class Kernel(Value, frozen=True, kw_only=True):
    """A function that a GPU runs; `gridded` once a grid has been given to it."""

    path: str
    name: str
    gridded: bool = False


class Class(Value, frozen=True, kw_only=True):
    path: str
    name: str


class Instance(Value, frozen=True, kw_only=True):
    path: str
    name: str


class Super(Value, frozen=True, kw_only=True):
    """An instance, looked at as one of the bases of a class."""

    path: str
    name: str
    instance: Value


_EXACT = ("size ", "less ", "step ", "which ", "some ")
_MOST_FUNCTIONS = 4
_LONGEST = 64
"""Items of a group that are told apart."""
UNKNOWN = Unknown()
UNSEEN = "?:?"
"""Where a value is held that came out of a container which is not seen."""
NOTHING = Host(constant=None, known=True)
HOST = Host()


def unsure(topics: Names) -> Names:
    """Topics without those that hold of a number as it is, not of what is made of it."""
    return frozenset(t for t in topics if not t.startswith(_EXACT))


def is_live(value: Value) -> bool:
    """Whether it is a tensor in device memory."""
    return isinstance(value, Tensor) and value.place == "device"


def place_among(found: Iterable[Tensor]) -> Place:
    """Where the result of an operation on these lies."""
    places = {tensor.place for tensor in found}
    if "device" in places:
        return "device"
    return "host" if places == {"host"} else ""


def tensors(value: Value) -> list[Tensor]:
    """The tensors that a value is or has among its known items."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Group):
        return [t for item in (*(value.items or ()), value.every) for t in tensors(item)]
    return []


def join(a: Value, b: Value) -> Value:
    """What a value may be that is one of the two. A None beside something else is left
    out: code that goes on with it has asked."""
    if a == b:
        return a
    if type(a) is type(b) and a.held != b.held and replace(a, held=b.held) == b:
        return replace(b, held=a.held or b.held)
    if _is_none(a) or _is_none(b):
        kept, other = (b, a) if _is_none(a) else (a, b)
        return replace(kept, held=kept.held or other.held)
    functions = list(dict.fromkeys((*_functions(a), *_functions(b))))
    if _functions(a) and _functions(b) and len(functions) <= _MOST_FUNCTIONS:
        return Either(options=tuple(functions))
    held, shares, holds = a.held or b.held, a.shares | b.shares, a.holds | b.holds
    joint: Value = Unknown()
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        joint = Tensor(
            place=a.place if a.place == b.place else "",
            mask=a.mask and b.mask,
            pinned=a.pinned or b.pinned,
            fresh=a.fresh and b.fresh,
            part=a.part if a.part == b.part else "",
            copies=a.copies | b.copies,
        )
    elif isinstance(a, Host) and isinstance(b, Host):
        both = unsure(a.topics | b.topics) | (a.topics & b.topics)
        joint = Host(addresses=a.addresses | b.addresses, topics=both)
    elif isinstance(a, Group) and isinstance(b, Group):
        pairs = _pairwise(a.items, b.items) if a.keys == b.keys else None
        joint = Group(items=pairs, every=join(every(a), every(b)), keys=a.keys if pairs else ())
    return replace(joint, held=held, shares=shares, holds=holds)


def joined(values: Iterable[Value]) -> Value:
    """The join of any number of values; UNKNOWN where there is none."""
    found = list(values)
    return reduce(join, found) if found else UNKNOWN


def spread_out(value: Value) -> dict[str, Value]:
    """The items of a mapping by their names; none where they are not known."""
    if not isinstance(value, Group) or value.items is None or len(value.items) != len(value.keys):
        return {}
    return dict(zip(value.keys, value.items, strict=True))


def every(group: Group) -> Value:
    """What an item may be that is taken at an unknown place."""
    return joined(group.items) if group.items else group.every


def pruned(value: Value, levels: int = 3) -> Value:
    """A value without groups in groups beyond some levels, nor long ones item by item:
    what a source nests without end is unknown there."""
    if not isinstance(value, Group | Partial):
        return value
    if not levels:
        return Unknown(shares=shared(value), holds=value.holds)
    if isinstance(value, Partial):
        return _pruned_partial(value, levels - 1)
    items = value.items if value.items is not None and len(value.items) <= _LONGEST else None
    return replace(
        value,
        items=items and tuple(pruned(item, levels - 1) for item in items),
        every=pruned(every(value) if items is None else value.every, levels - 1),
    )


def bound(target: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """What `functools.partial` makes of something to call; one of a partial is flat."""
    if isinstance(target, Partial):
        arguments = (*target.arguments, *arguments)
        keywords = dict(target.keywords) | dict(keywords)
        target = target.target
    given = (*arguments, *keywords.values())
    whole = Partial(
        target=target,
        arguments=tuple(arguments),
        keywords=tuple(keywords.items()),
        shares=frozenset().union(*map(shared, (target, *given))),
    )
    return pruned(whole)


def _pruned_partial(value: Partial, levels: int) -> Value:
    if len(value.arguments) + len(value.keywords) > _LONGEST:
        return Unknown(shares=value.shares)
    return replace(
        value,
        arguments=tuple(pruned(each, levels) for each in value.arguments),
        keywords=tuple((name, pruned(each, levels)) for name, each in value.keywords),
    )


def shared(value: Value) -> Names:
    """The arguments and the module state whose memory a value or its items lie in."""
    if isinstance(value, Group):
        return value.shares.union(*map(shared, value.items or (value.every,)))
    return value.shares


def _pairwise(a: tuple[Value, ...] | None, b: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(join(x, y) for x, y in zip(a, b, strict=True))


def _functions(value: Value) -> tuple[Function, ...]:
    if isinstance(value, Either):
        return value.options
    return (value,) if isinstance(value, Function) else ()


def _is_none(value: Value) -> bool:
    return isinstance(value, Host) and value.known and value.constant is None
