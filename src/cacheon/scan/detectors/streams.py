"""CG401 and CG403: work on another stream, and how it is joined."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Called, Ended, Event, Streamed
from cacheon.scan.torch_api import CURRENT, DEFAULT
from cacheon.scan.values import Made


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name.startswith("torch.cuda.")


class Streams:
    """Follows who waits for whom through one root."""

    def __init__(self) -> None:
        self.waits: dict[str, set[str]] = {}
        self.used: dict[str, Event] = {}
        self.recorded: set[str] = set()

    def find(self, event: Event) -> Iterator[Fault]:
        match event:
            case Streamed(step="wait", which=which, on=on):
                self.waits.setdefault(which, set()).add(on)
            case Streamed(which=which):
                yield from self._used(event, which)
            case Called() if replayed(event):
                yield from self._called(event)
            case Ended():
                joined = self._joined()
                for which, at in self.used.items():
                    if which not in joined and "" not in joined:
                        message = "the caller's stream does not wait for this one"
                        yield Fault("CG401", message, event=at)
                self.waits, self.used, self.recorded = {}, {}, set()

    def _joined(self) -> set[str]:
        """Streams that the caller's waits for, itself or through others; "" where it
        waits for an event, which may be of any."""
        found, waiting = set[str](), {CURRENT}
        while waiting:
            waiting = {on for which in waiting for on in self.waits.get(which, ())} - found
            found |= waiting
        return found

    def _used(self, event: Event, which: str) -> Iterator[Fault]:
        if not replayed(event) or which in ("", CURRENT):
            return
        if which == DEFAULT:
            yield Fault("CG401", "work is put on the default stream, which no capture follows")
        elif which not in self.waits:
            yield Fault("CG401", "this stream does not wait for the caller's before it works")
        else:
            self.used.setdefault(which, event)

    def _called(self, event: Called) -> Iterator[Fault]:
        receiver, first = event.receiver, event.arguments[:1]
        match event.name:
            case "torch.cuda.set_stream":
                yield Fault("CG403", "the current stream is changed behind the caller's back")
            case "torch.cuda.Event.record" if receiver is not None:
                self.recorded.add(_which(receiver))
            case "torch.cuda.Stream.record_event" if first:
                self.recorded.add(_which(first[0]))
            case "torch.cuda.Event.wait" if receiver is not None:
                yield from self._waited(receiver)
            case "torch.cuda.Stream.wait_event" if first:
                yield from self._waited(first[0])

    def _waited(self, event: object) -> Iterator[Fault]:
        if isinstance(event, Made) and event.held and _which(event) not in self.recorded:
            yield Fault("CG403", "this event was recorded outside the call, or never")


def _which(event: object) -> str:
    return (event.held or event.which) if isinstance(event, Made) else ""
