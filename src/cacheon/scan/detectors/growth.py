"""CG504: something gains an item with every call."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.detectors.retained import state
from cacheon.scan.events import Ended, Event, Kept
from cacheon.scan.values import CAPTURING, tensors


class Growth:
    """Follows what is put into containers through one root, and whether it is taken out."""

    def __init__(self) -> None:
        self.grown: list[Kept] = []

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Kept(how="item") if replayed(event) and CAPTURING not in event.context.facts:
                # Under a capture: once a graph, which may need it for as long as it lives.
                self.grown.append(event)
            case Ended():
                for at in self.grown:
                    taken = {("take", at.holder), ("drop", at.holder)} & event.effects
                    if not taken and any(tensor.fresh for tensor in tensors(at.value)):
                        message = f"`{state(at)}` gains a tensor with every call"
                        yield Fault("CG504", message, event=at)
                self.grown = []
