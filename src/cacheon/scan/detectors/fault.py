"""What a detector says, and what detectors ask of an event."""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cacheon.scan.events import Called, Event
from cacheon.scan.values import Value, is_live


class Fault(NamedTuple):
    """`node` or `event`: where, if that is another place than the event's that it was
    asked about."""

    rule: str
    message: str
    node: ast.AST | None = None
    event: Event | None = None


Find = Callable[[Event], Iterator[Fault]]


def replayed(event: Event) -> bool:
    """Whether the line runs in every call, and so under capture."""
    return event.context.phase == "replay"


def live(values: tuple[Value, ...]) -> bool:
    return any(map(is_live, values))


def method(event: Called) -> str:
    """`item` of `Tensor.item`; "" where it is no method of a tensor."""
    owner, _, name = event.name.rpartition(".")
    return name if owner == "Tensor" else ""
