"""CG205: an output is kept for later calls."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Event, Kept
from cacheon.scan.values import Group, Host, Names, Value, shared


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Kept):
        return
    value, outputs = event.value, event.context.root.outputs
    addresses = value.addresses if isinstance(value, Host) else frozenset()
    for name in sorted((shared(value) | addresses) & outputs - named_by(event)):
        what = "the address of " if name in addresses else ""
        yield Fault("CG205", f"{what}`{name}` is kept in `{state(event)}` for later calls")


def named_by(event: Kept) -> Names:
    """The arguments whose address, or who themselves, are part of the key."""
    return _identified(event.key) if event.key is not None else frozenset()


def _identified(key: Value) -> Names:
    if isinstance(key, Group):
        return frozenset().union(*map(_identified, key.items or ()))
    return key.shares | (key.addresses if isinstance(key, Host) else frozenset())


def state(event: Kept) -> str:
    return event.holder.rpartition(":")[2].removesuffix("[]")
