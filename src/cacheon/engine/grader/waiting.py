"""Who waits for whom: from what ranks have called, and when they answered, to words."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from cacheon.engine.ledger import MORE, Called
from cacheon.engine.protocol import AnyReply, Closed, Garbled, TooSlow

_AMONG_FEWER = ("send", "recv", "of ")
"""What one rank may call and another not: between two, or in a group `of` fewer ranks."""
_KERNEL = "kernel "
_SHAPE = re.compile(r"\b\d{1,9}(?:x\d{1,9}){1,15}\b")


class Heard(NamedTuple):
    """What came from a rank, and after how many seconds."""

    after: float
    what: AnyReply | Closed | Garbled | TooSlow


class Silent(NamedTuple):
    """A step that did not end. `rank`: the one that the others seem to wait for, -1 where
    nobody knows. `apart`: the ranks had called different collectives."""

    rank: int
    words: str
    apart: bool


class Parting(NamedTuple):
    """The first collective in which two ranks differ: in which call of the entry, which of
    all that were called there, and what each of the two calls, empty where nothing. `odd`:
    the second of the two differs from most ranks, which no two can say of each other."""

    call: int
    place: int
    ranks: tuple[int, int]
    whats: tuple[str, str]
    odd: bool

    @property
    def words(self) -> str:
        one, other = (what or "nothing" for what in self.whats)
        return (
            f"collective {self.place + 1} of the step, in call {self.call}: rank "
            f"{self.ranks[0]} calls {one}, rank {self.ranks[1]} calls {other}"
        )


def parting(called: Sequence[Sequence[Called]]) -> Parting | None:
    """Where the list of a rank first differs from that of most ranks; None where they agree.

    Only what the whole group does together is compared, and of a shape how many elements it
    has: that is all that ranks must agree on. Kernels tell no group from another: where ranks
    also talk among fewer, they are left out, and what follows where one ledger is full."""
    lists = [_collectives(each) for each in called]
    if any(each.what.startswith(_AMONG_FEWER) for one in called for each in one):
        lists = [[each for each in one if not each.what.startswith(_KERNEL)] for one in lists]
        full = [len(one) - 1 for one in lists if one and one[-1].what.endswith(MORE)]
        lists = [one[: min(full, default=len(one))] for one in lists]
    keys = [[(each.call, _SHAPE.sub(_elements, each.what)) for each in one] for one in lists]
    usual = max(range(len(lists)), key=lambda rank: (keys.count(keys[rank]), -rank))
    for rank, other in enumerate(lists):
        for place, pair in enumerate(zip_longest(lists[usual], other)):
            if keys[usual][place : place + 1] != keys[rank][place : place + 1]:
                call = min(entry.call for entry in pair if entry is not None)
                one, two = (e.what if e is not None and e.call == call else "" for e in pair)
                odd = 2 * keys.count(keys[usual]) > len(keys)
                return Parting(call, place, (usual, rank), (one, two), odd)
    return None


def missing(
    silent: Sequence[int],
    heard: Mapping[int, Heard],
    called: Sequence[Sequence[Called]],
    seconds: float,
    *,
    in_graph: bool = False,
) -> Silent:
    """What to say of `silent` ranks once the deadline is over. `in_graph`: what was called
    stands in a graph that the device replays, and how far it came is not known.

    A rank that has called the fewest collectives is the one that is waited for, also where
    it has answered: then it left one out. Where several are silent and none has called
    fewer than others, it is not known."""
    counts = [len(_collectives(each)) for each in called]
    parted = parting(called)
    fewest = min(range(len(counts)), key=lambda rank: (counts[rank], rank not in silent))
    if counts[fewest] == max(counts):
        fewest = silent[0] if len(silent) == 1 else -1
    answered_with_fewer = fewest >= 0 and fewest not in silent and parted is not None
    same_place = parted is not None and all(parted.whats)
    of_silent = _of_graph if in_graph else _of_silent
    told = [of_silent(rank, called[rank]) for rank in silent]
    told += [
        f"rank {rank} answered after {heard[rank].after:.2f} s with {_many(called[rank])}"
        for rank in range(len(called))
        if rank not in silent
    ]
    if parted is not None and (answered_with_fewer or same_place):
        told.append(parted.words)
    told.append(f"given up after {seconds:g} s")
    return Silent(fewest, "; ".join(told), answered_with_fewer or same_place)


def _of_silent(rank: int, called: Sequence[Called]) -> str:
    if not called:
        return f"rank {rank} has not answered and called no collective"
    last = called[-1].what
    return f"rank {rank} has not answered since collective {len(called)} of the step, {last}"


def _of_graph(rank: int, called: Sequence[Called]) -> str:
    return f"rank {rank} has not answered; its graph holds {_many(called)}"


def _many(called: Sequence[Called]) -> str:
    if not called:
        return "no collective"
    return f"{len(called)} collectives, the last {called[-1].what}"


def _elements(shape: re.Match[str]) -> str:
    return str(math.prod(map(int, shape[0].split("x"))))


def _collectives(called: Sequence[Called]) -> list[Called]:
    return [each for each in called if not each.what.startswith(_AMONG_FEWER)]
