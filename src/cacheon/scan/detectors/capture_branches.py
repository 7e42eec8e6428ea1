"""CG304 and CG603: a capture takes another path, on all ranks or on some of them."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.effects import collectives, lasting
from cacheon.scan.events import Branched, Effect, Event
from cacheon.scan.rank_numbers import RANK
from cacheon.scan.values import RANKED


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Branched) or event.topic != "capture":
        return
    differing = lasting(event.then) ^ lasting(event.otherwise)
    # What raises under capture, or anywhere else, captures nothing.
    refused = event.ends != (None, None)
    if event.context.root.slot is None or not differing or refused:
        return
    told = RANK in event.topics or RANKED in event.context.facts
    uneven = collectives(event.then) != collectives(event.otherwise)
    if told and uneven:
        # CG602, which comes first.
        return
    if not told and not _is_ranked(event, differing):
        yield Fault("CG304", "while a capture is on, something else is written or kept")
    elif _is_contribution(event, differing) and not uneven:
        yield Fault("CG603", "while a capture is on, some ranks contribute something else")
    else:
        yield Fault("CG304", "while a capture is on, some ranks write or keep something else")


def _is_ranked(event: Branched, differing: set[Effect]) -> bool:
    """Whether all that differs is what some ranks do in one of the arms."""
    effects = event.then | event.otherwise
    return all(("ranked", *effect) in effects for effect in differing)


def _is_contribution(event: Branched, differing: set[Effect]) -> bool:
    """Whether only memory is written that no collective has been called for yet."""
    writes = all(effect[0] == "write" for effect in differing)
    return writes and not event.reduced and "group" in event.context.root.arguments
