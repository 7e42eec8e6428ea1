"""CG201: a copy of an output is written, and the output itself by nobody."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Ended, Event, Kept, Launched, Wrote
from cacheon.scan.values import Tensor, shared


class Copies:
    """Follows where clones of an output go through one root."""

    def __init__(self) -> None:
        self.copies: dict[str, Event] = {}
        self.given: set[str] = set()

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Wrote(target=Tensor(part="clone") as target):
                for name in target.holds & event.context.root.outputs:
                    self.copies.setdefault(name, event)
            case Launched(arguments=arguments):
                self.given.update(*map(shared, arguments.values()))
            case Kept(value=value):
                self.given |= shared(value)
            case Ended():
                yield from self._ended(event)
                self.copies, self.given = {}, set()

    def _ended(self, event: Ended) -> Iterator[Fault]:
        reached = {effect[1] for effect in event.effects if effect[0] in ("write", "pass")}
        foreign = any(effect[0] == "foreign" for effect in event.effects)
        for name, at in self.copies.items():
            if name not in reached | self.given and not foreign:
                message = f"a copy of `{name}` is written, and nothing to `{name}` itself"
                yield Fault("CG201", message, event=at)
