"""CG701: what one call leaves behind for the next."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Called, Ended, Event, Kept, Wrote
from cacheon.scan.values import Made

_ADDING = frozenset(
    "+= add_ sub_ mul_ div_ index_add_ scatter_add_ addmm_ addcmul_ logical_xor_ bitwise_xor_ "
    "bitwise_not_ neg_ remainder_ cumsum_".split()
)

_COUNTERS = frozenset({"itertools.count", "itertools.cycle"})


class Carried:
    """Module state that each call makes from what the last one left."""

    def __init__(self) -> None:
        self.added: dict[str, Event] = {}
        self.counted: dict[str, Event] = {}
        self.reset: set[str] = set()

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Wrote(target=target, how=how) if how not in _ADDING:
                # Where that happens eagerly only, it is CG304.
                self.reset |= target.shares
            case Wrote(target=target) if replayed(event):
                for name in target.shares:
                    self.added.setdefault(name, event)
            case Called(name="builtins.next", arguments=[Made(name=name, held=held)]):
                if name in _COUNTERS and held and replayed(event):
                    last = held.rpartition(":")[2]
                    yield Fault("CG701", f"`{last}` counts calls, and stands still at a replay")
            case Kept(how="counted") if replayed(event):
                self.counted.setdefault(event.holder, event)
            case Ended():
                yield from self._ended(event)
                self.added, self.counted, self.reset = {}, {}, set()

    def _ended(self, event: Ended) -> Iterator[Fault]:
        if event.context.root.slot is None:
            return
        given = {effect[1] for effect in event.effects if effect[0] == "pass"}
        for name, at in self.added.items():
            if ":" in name and name not in self.reset | given:
                message = f"`{name.rpartition(':')[2]}` is added to in every call, never cleared"
                yield Fault("CG701", message, event=at)
        for name, at in self.counted.items():
            if ("read", name) in event.effects:
                message = f"`{name.rpartition(':')[2]}` counts calls, and stands still at a replay"
                yield Fault("CG701", message, event=at)
