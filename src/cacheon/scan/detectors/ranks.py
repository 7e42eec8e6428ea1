"""CG602 and CG501: ranks do not call the same collectives, or some of them raise."""

from collections.abc import Iterator

from cacheon.scan import rank_numbers
from cacheon.scan.detectors.fault import Fault
from cacheon.scan.effects import collectives
from cacheon.scan.events import Branched, Event, Raised
from cacheon.scan.values import CAPTURING


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Branched) or event.topic != rank_numbers.RANK:
        return
    arms = [collectives(arm) for arm in (event.then, event.otherwise)]
    ends = [end for end, arm in zip(event.ends, arms, strict=True) if end is not None and not arm]
    if ends:
        # It ends there, or with the whole process, which is a rule of its own.
        if _is_refusal(event, ends):
            yield Fault("CG501", "some ranks raise here, and the others do not", event=ends[0])
    elif arms[0] != arms[1]:
        yield Fault("CG602", "only some ranks call a collective, or they call others")


def _is_refusal(event: Branched, ends: list[Raised]) -> bool:
    """Whether one arm, which some ranks take in every call, does nothing but raise."""
    root = event.context.root
    called = root.slot is not None and "group" in root.arguments
    told = event.topics & {rank_numbers.WHICH, rank_numbers.SOME}
    eager = CAPTURING not in event.context.facts
    return called and bool(told) and event.sure and eager and _is_raise(ends)


def _is_raise(ends: list[Raised]) -> bool:
    return len(ends) == 1 and not ends[0].leaves
