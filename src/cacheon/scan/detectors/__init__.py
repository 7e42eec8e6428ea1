"""The detectors: one module a rule, or a family of rules that look at the same thing."""

from collections.abc import Callable

from cacheon.scan.detectors import (
    allocation,
    by_name,
    capture_branches,
    decisions,
    host_reads,
    inputs,
    moves,
    outputs,
    outside,
    parts,
    randomness,
    ranks,
    receives,
    replaced,
    retained,
    stale,
    streams,
    waits,
)
from cacheon.scan.detectors.carried import Carried
from cacheon.scan.detectors.copies import Copies
from cacheon.scan.detectors.fault import Fault, Find
from cacheon.scan.detectors.growth import Growth
from cacheon.scan.detectors.lagging import Lagging
from cacheon.scan.detectors.receives import Receives
from cacheon.scan.detectors.replaced import Replaced
from cacheon.scan.detectors.streams import Streams
from cacheon.scan.events import (
    Branched,
    Called,
    Ended,
    Event,
    Indexed,
    Kept,
    Launched,
    Looped,
    Shown,
    Streamed,
    Tested,
    Wrote,
)

__all__ = ["Detectors", "Fault", "Find"]


_CONCERNS: dict[str, Callable[[str], bool]] = {
    module.__name__: module.concerns
    for module in (allocation, by_name, moves, outside, receives, replaced, streams, waits)
}
"""Detectors that look at calls of certain names only. Most calls are of other names."""


class Detectors:
    """Who is asked about an event."""

    def __init__(self) -> None:
        self._all = detectors()
        self._by_name: dict[str, list[Find]] = {}

    def asked(self, event: Event) -> list[Find]:
        if not isinstance(event, Called):
            return self._all.get(type(event), [])
        if event.name not in self._by_name:
            self._by_name[event.name] = [
                find
                for find in self._all[Called]
                if _CONCERNS.get(find.__module__, _anything)(event.name)
            ]
        return self._by_name[event.name]


def _anything(_: str) -> bool:
    return True


def detectors() -> dict[type[Event], list[Find]]:
    """All of them, by what they look at; new ones for each walk, since some follow what
    happens in it."""
    staged, carried, buffers, copies = Streams(), Carried(), Replaced(), Copies()
    growth, lagging, received = Growth(), Lagging(), Receives()
    listed: list[tuple[Find, tuple[type[Event], ...]]] = [
        (host_reads.find, (Called, Indexed, Shown)),
        (moves.find, (Called, Indexed, Launched, Wrote)),
        (decisions.find, (Called, Indexed, Tested)),
        (waits.find, (Called, Looped)),
        (outputs.find, (Ended,)),
        (inputs.find, (Wrote,)),
        (parts.find, (Branched, Ended)),
        (outside.find, (Called, Launched)),
        (retained.find, (Kept,)),
        (stale.find, (Kept,)),
        (capture_branches.find, (Branched,)),
        (allocation.find, (Called,)),
        (growth.find, (Ended, Kept)),
        (by_name.find, (Called,)),
        (ranks.find, (Branched,)),
        (randomness.find, (Called,)),
        (buffers.find, (Called, Ended, Kept)),
        (staged.find, (Called, Ended, Streamed)),
        (carried.find, (Called, Ended, Kept, Wrote)),
        (lagging.find, (Ended, Wrote)),
        (received.find, (Called, Ended)),
        (copies.find, (Ended, Kept, Launched, Wrote)),
    ]
    found: dict[type[Event], list[Find]] = {}
    for find, events in listed:
        for event in events:
            found.setdefault(event, []).append(find)
    return found
