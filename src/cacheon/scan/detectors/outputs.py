"""CG201, CG206 and CG802: what the entry does with its arguments at all."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Ended, Event
from cacheon.scan.values import tensors

_RECOMPUTED = frozenset({"block_size", "causal", "scale", "sm_scale", "group", "prepared"})
"""Scalars that a kernel may know without reading them: from a shape, or by its domain."""


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Ended) or event.context.root.slot is None or not event.falls:
        return
    foreign = any(effect[0] == "foreign" for effect in event.effects)
    for output in sorted(event.context.root.outputs - event.used):
        results = [node for node, value in event.returned if tensors(value)]
        if results:
            message = f"a result is returned and nothing is written to `{output}`"
            yield Fault("CG206", message, results[0])
        elif not foreign:
            yield Fault("CG201", f"nothing is written to `{output}`")
    root = event.context.root
    unread = frozenset(root.arguments) - event.read - root.outputs - _RECOMPUTED
    for name in sorted(unread) if event.used & root.outputs else ():
        yield Fault("CG802", f"the argument `{name}` is never read")
