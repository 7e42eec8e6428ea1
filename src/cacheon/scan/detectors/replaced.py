"""CG302: memory that a graph may hold is given up."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.detectors.retained import state
from cacheon.scan.events import Called, Event, Kept
from cacheon.scan.values import GROWN, Tensor


def find(event: Event) -> Iterator[Fault]:
    match event:
        case Kept(value=Tensor(fresh=True), how="name" | "key") if GROWN in event.context.facts:
            yield Fault("CG302", f"a larger buffer takes the place of `{state(event)}`")
        case Kept(value=Tensor(fresh=True), how="evicting"):
            yield Fault("CG302", f"`{state(event)}` forgets buffers when it is full")
        case Called(name="Tensor.resize_" | "Tensor.set_", receiver=Tensor(held=held)) if held:
            name = held.rpartition(":")[2]
            yield Fault("CG302", f"the memory of `{name}` is replaced where it stands")
