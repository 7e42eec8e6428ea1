"""CG104: a rank waits for a message that no rank sends."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.effects import RECEIVES
from cacheon.scan.events import Called, Ended, Event

_GROUPS = "torch.distributed."


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name.startswith(_GROUPS) and name.rpartition(".")[2] in RECEIVES


class Receives:
    """Follows the receives of one root."""

    def __init__(self) -> None:
        self.found: list[Event] = []

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Called(name=name) if concerns(name):
                self.found.append(event)
            case Ended():
                yield from self._ended(event)
                self.found = []

    def _ended(self, event: Ended) -> Iterator[Fault]:
        root = event.context.root
        if root.slot is None or "group" not in root.arguments:
            # Whoever calls a library's function may send from another one.
            return
        kinds = {effect[0] for effect in event.effects}
        if "send" in kinds or "foreign" in kinds or ("pass", "group") in event.effects:
            return
        for at in self.found:
            yield Fault("CG104", "no rank sends what is waited for here", event=at)
