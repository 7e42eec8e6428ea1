"""CG204: memory around an output is reached."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Called, Event, Launched
from cacheon.scan.values import Value

_FLAT = frozenset({"as_strided", "as_strided_", "untyped_storage", "storage", "set_"})


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return _last(name) in _FLAT


def find(event: Event) -> Iterator[Fault]:
    match event:
        case Called(name=name) if _last(name) in _FLAT:
            for first in event.operands[:1]:
                yield from _flat(event, first)
        case Launched(overshoots=True, kernel=kernel):
            message = f"the grid of `{kernel}` goes past the end, and its stores have no mask"
            yield Fault("CG204", message)


def _flat(event: Called, target: Value) -> Iterator[Fault]:
    slot = event.context.root.slot
    for output in slot.outputs if slot is not None else ():
        if output.pitch is not None and output.name in target.shares:
            message = f"`{event.name}` reaches the gaps between the rows of `{output.name}`"
            yield Fault("CG204", message)


def _last(name: str) -> str:
    return name.rpartition(".")[2] if name.startswith(("torch.", "Tensor.")) else ""
