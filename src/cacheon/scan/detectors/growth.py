"""CG504: something gains an item with every call."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.detectors.retained import state
from cacheon.scan.events import Event, Kept
from cacheon.scan.values import CAPTURING, tensors


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Kept) or event.how != "item" or not replayed(event):
        return
    if CAPTURING in event.context.facts:
        # Once a graph, which may need it for as long as it lives.
        return
    if any(tensor.fresh for tensor in tensors(event.value)):
        yield Fault("CG504", f"`{state(event)}` gains a tensor with every call")
