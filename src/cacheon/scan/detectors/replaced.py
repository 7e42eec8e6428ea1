"""CG302: memory that a graph may hold is given up."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.detectors.retained import state
from cacheon.scan.events import Called, Ended, Event, Kept
from cacheon.scan.values import GROWN, OUTGROWN, Tensor

_RESIZING = frozenset({"Tensor.resize_", "Tensor.set_"})


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name in _RESIZING


class Replaced:
    """Follows what one root does with buffers that outlive a call."""

    def __init__(self) -> None:
        self.outgrown: dict[str, Kept] = {}
        self.retired: set[str] = set()

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Kept(value=Tensor(fresh=True), how="name" | "key") if _too_small(event):
                self.outgrown.setdefault(event.holder, event)
            case Kept(value=Tensor(fresh=True), how="evicting"):
                yield Fault("CG302", f"`{state(event)}` forgets buffers when it is full")
            case Kept(value=value):
                # A buffer that is put aside before another takes its place lives on.
                self.retired |= value.shares - {event.holder}
            case Called(name="Tensor.resize_" | "Tensor.set_", receiver=Tensor(held=held)) if held:
                name = held.rpartition(":")[2]
                yield Fault("CG302", f"the memory of `{name}` is replaced where it stands")
            case Ended():
                yield from self._ended(event)
                self.outgrown, self.retired = {}, set()

    def _ended(self, event: Ended) -> Iterator[Fault]:
        for holder, at in self.outgrown.items():
            # What only eager calls read is in no graph.
            captured = at.context.phase != "eager" or ("hold", holder) in event.effects
            if captured and holder not in self.retired:
                message = f"a larger buffer takes the place of `{state(at)}`"
                yield Fault("CG302", message, event=at)


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
