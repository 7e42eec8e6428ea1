"""CG304: a capture takes another path."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Branched, Effect, Event

_LASTING = frozenset({"write", "keep", "take"})


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Branched) or event.topic != "capture":
        return
    if event.context.root.slot is not None and _lasting(event.then) != _lasting(event.otherwise):
        yield Fault("CG304", "while a capture is on, something else is written or kept")


def _lasting(effects: frozenset[Effect]) -> set[tuple[str, ...]]:
    return {effect[:2] for effect in effects if effect[0] in _LASTING}
