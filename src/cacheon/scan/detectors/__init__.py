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
    replaced,
    retained,
    stale,
    waits,
)
from cacheon.scan.detectors.carried import Carried
from cacheon.scan.detectors.fault import Fault, Find
from cacheon.scan.detectors.streams import Streams

__all__ = ["Fault", "Find", "detectors"]


def detectors() -> tuple[Find, ...]:
    """All of them, for one scan: some follow what happens in it."""
    return (
        host_reads.find,
        moves.find,
        decisions.find,
        waits.find,
        outputs.find,
        inputs.find,
        parts.find,
        outside.find,
        retained.find,
        stale.find,
        replaced.find,
        capture_branches.find,
        allocation.find,
        growth.find,
        by_name.find,
        ranks.find,
        randomness.find,
        Streams().find,
        Carried().find,
    )
