"""CG602: ranks do not call the same collectives."""

from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.events import Branched, Effect, Event

_LOCAL = ("get_", "is_", "Work", "P2POp")


def find(event: Event) -> Iterator[Fault]:
    if not isinstance(event, Branched) or event.topic != "rank":
        return
    if _collectives(event.then) != _collectives(event.otherwise):
        yield Fault("CG602", "only some ranks call a collective, or they call others")


def _collectives(effects: frozenset[Effect]) -> set[str]:
    names = {effect[1].rpartition(".")[2] for effect in effects if effect[0] == "collective"}
    return {name for name in names if not name.startswith(_LOCAL)}
