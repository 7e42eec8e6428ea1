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
    if not _is_on_some_ranks(event, differing):
        yield Fault("CG304", "while a capture is on, something else is written or kept")
    elif collectives(event.then) != collectives(event.otherwise):
        # CG602, which would come first.
        return
    elif _is_contribution(event, differing):
        yield Fault("CG603", "while a capture is on, some ranks contribute something else")
    else:
        yield Fault("CG304", "while a capture is on, some ranks write or keep something else")


def _is_on_some_ranks(event: Branched, differing: set[Effect]) -> bool:
    effects = event.then | event.otherwise
    ranked = all(("ranked", *effect) in effects for effect in differing)
    return ranked or RANK in event.topics or RANKED in event.context.facts


def _is_contribution(event: Branched, differing: set[Effect]) -> bool:
    """Whether only memory is written that no collective has been called for yet."""
    writes = all(effect[0] == "write" for effect in differing)
    return writes and not event.reduced and "group" in event.context.root.arguments
