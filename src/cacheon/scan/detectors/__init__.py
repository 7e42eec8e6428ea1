"""The detectors: one module a rule, or a family of rules that look at the same thing."""

from cacheon.scan.detectors import (
    allocation,
    by_name,
    capture_branches,
    decisions,
    growth,
    host_reads,
    inputs,
    moves,
    outputs,
    outside,
    parts,
    randomness,
    ranks,
    retained,
    stale,
    waits,
)
from cacheon.scan.detectors.carried import Carried
from cacheon.scan.detectors.fault import Fault, Find
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

__all__ = ["Fault", "Find", "detectors"]


def detectors() -> dict[type[Event], list[Find]]:
    """All of them, by what they look at; new ones for each walk, since some follow what
    happens in it."""
    streams, carried, replaced = Streams(), Carried(), Replaced()
    listed: list[tuple[Find, tuple[type[Event], ...]]] = [
        (host_reads.find, (Called, Shown)),
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
        (growth.find, (Kept,)),
        (by_name.find, (Called,)),
        (ranks.find, (Branched,)),
        (randomness.find, (Called,)),
        (replaced.find, (Called, Ended, Kept)),
        (streams.find, (Called, Ended, Streamed)),
        (carried.find, (Ended, Kept, Wrote)),
    ]
    found: dict[type[Event], list[Find]] = {}
    for find, events in listed:
        for event in events:
            found.setdefault(event, []).append(find)
    return found
