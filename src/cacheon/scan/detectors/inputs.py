"""CG202: an input is written to."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Event, Wrote


def find(event: Event) -> Iterator[Fault]:
    root = event.context.root
    if isinstance(event, Wrote) and root.slot is not None:
        for name in sorted(event.target.shares & root.inputs):
            yield Fault("CG202", f"`{event.how}` writes to the input `{name}`")
