"""CG303: an output is written from a buffer that only afterwards gets this call's answer."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Ended, Event, Wrote
from cacheon.scan.values import Names, Tensor, Value


class Lagging:
    """Follows, through one root, which state was written before an output was."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.published: dict[str, tuple[Event, Names]] = {}
        self.late: set[str] = set()

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Wrote(target=target, source=source) if replayed(event):
                self._wrote(event, target.shares, source)
            case Ended():
                lost = {effect[1] for effect in event.effects if effect[0] == "pass"}
                foreign = any(effect[0] == "foreign" for effect in event.effects)
                for at, holders in self.published.values():
                    for holder in sorted(holders & self.late - lost) if not foreign else ():
                        name = holder.rpartition(":")[2].replace("[]", "")
                        message = f"`{name}` still has what an earlier call left in it"
                        yield Fault("CG303", message, event=at)
                self.written, self.published, self.late = set(), {}, set()

    def _wrote(self, event: Event, targets: Names, source: Value | None) -> None:
        root = event.context.root
        live = root.tensors("activation", dynamic=True)
        for output in targets & root.outputs:
            # What is written last is what the caller sees.
            self.published[output] = event, _state(source) - self.written
        for holder in filter(_outlives, targets):
            if source is not None and source.holds & live:
                self.late.add(holder)
            if not any(holder in holders for _, holders in self.published.values()):
                self.written.add(holder)


def _state(source: Value | None) -> Names:
    names = source.shares | source.copies if isinstance(source, Tensor) else ()
    return frozenset(filter(_outlives, names))


def _outlives(name: str) -> bool:
    return ":" in name
