"""CG104 and CG105: the host waits, or never comes back."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault, replayed
from cacheon.scan.events import Called, Event, Looped

_WAITS = frozenset(
    {
        "torch.cuda.synchronize",
        "torch.cuda.Stream.synchronize",
        "torch.cuda.Stream.query",
        "torch.cuda.Event.synchronize",
        "torch.cuda.Event.query",
        "torch.cuda.Event.elapsed_time",
        "torch.distributed.barrier",
        "torch.distributed.monitored_barrier",
    }
)


def concerns(name: str) -> bool:
    """Whether a call of this name may be a fault of this kind."""
    return name in _WAITS


def find(event: Event) -> Iterator[Fault]:
    match event:
        case Called(name=name) if name in _WAITS and replayed(event):
            yield Fault("CG105", f"`{name}` waits for the device, or asks it, on the host")
        case Looped(ranked=True):
            root = event.context.root
            if root.slot is not None and "group" in root.arguments:
                yield Fault("CG104", "on some ranks this loop does not end")
        case Looped():
            yield Fault("CG104", "this loop does not end while a capture is on")
