"""CG205: an output is kept for later calls."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Event, Kept
from cacheon.scan.state import shared
from cacheon.scan.values import Host, Names


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Kept):
        return
    value, outputs = event.value, event.context.root.outputs
    addresses = value.addresses if isinstance(value, Host) else frozenset()
    for name in sorted((shared(value) | addresses) & outputs - named_by(event)):
        what = "the address of " if name in addresses else ""
        yield Fault("CG205", f"{what}`{name}` is kept in `{state(event)}` for later calls")


def named_by(event: Kept) -> Names:
    """The arguments whose address is part of the key."""
    if isinstance(event.key, Host):
        return event.key.addresses | event.key.shares
    return shared(event.key) if event.key is not None else frozenset()


def state(event: Kept) -> str:
    return event.holder.rpartition(":")[2]
