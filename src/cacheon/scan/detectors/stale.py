"""CG301: values are kept that were right once."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.detectors.retained import named_by, state
from cacheon.scan.events import Event, Kept
from cacheon.scan.values import Names


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Kept) or event.context.phase != "first":
        return
    root = event.context.root
    live = root.tensors("activation", dynamic=True)
    held = event.value.holds
    changed = held & live
    if changed:
        yield Fault("CG301", _message(event, changed) + ", whose values change at every replay")
    elif held & root.tensors("weight") - named_by(event):
        weights = held & root.tensors("weight")
        yield Fault("CG301", _message(event, weights) + ", of which every layer has its own")


def _message(event: Kept, names: Names) -> str:
    listed = ", ".join(f"`{name}`" for name in sorted(names))
    return f"`{state(event)}` keeps what was computed from {listed}"
