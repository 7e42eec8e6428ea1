"""CG302: memory that a graph may hold is given up."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.detectors.retained import state
from cacheon.scan.events import Called, Event, Kept
from cacheon.scan.values import GROWN, OUTGROWN, Tensor


def find(event: Event) -> Iterator[Fault]:
    match event:
        case Kept(value=Tensor(fresh=True), how="name" | "key") if _too_small(event):
            yield Fault("CG302", f"a larger buffer takes the place of `{state(event)}`")
        case Kept(value=Tensor(fresh=True), how="evicting"):
            yield Fault("CG302", f"`{state(event)}` forgets buffers when it is full")
        case Called(name="Tensor.resize_" | "Tensor.set_", receiver=Tensor(held=held)) if held:
            name = held.rpartition(":")[2]
            yield Fault("CG302", f"the memory of `{name}` is replaced where it stands")


def _too_small(event: Kept) -> bool:
    """Whether the line is reached where this buffer, or a number beside it, was too small."""
    facts, holder = event.context.facts, event.holder
    owner = _owner(holder)
    return GROWN + holder in facts or any(
        fact.startswith(OUTGROWN) and _owner(fact.removeprefix(OUTGROWN)) == owner for fact in facts
    )


def _owner(holder: str) -> str:
    """The object or the module that a state belongs to."""
    path, _, name = holder.rpartition(":")
    return f"{path}:{name.rpartition('.')[0]}"
