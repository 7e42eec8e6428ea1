"""Who waits for whom: from what ranks have called, and when they answered, to words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cacheon.engine.ledger import Called
from cacheon.engine.protocol import AnyReply, Closed, Garbled, TooSlow

_AMONG_FEWER = ("send", "recv", "of ")
"""What one rank may call and another not: between two, or in a group `of` fewer ranks."""
_KERNEL = "kernel "
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


class Heard(NamedTuple):
    """What came from a rank, and after how many seconds."""

    after: float
    what: AnyReply | Closed | Garbled | TooSlow


class Silent(NamedTuple):
    """A step that did not end. `rank`: the one that the others seem to wait for. `apart`:
    the ranks had called different collectives."""

    rank: int
    words: str
    apart: bool


class Parting(NamedTuple):
    """The first collective in which two ranks differ: in which call of the entry, which of
    all that were called there, and what each of the two calls, empty where nothing."""

    call: int
    place: int
    ranks: tuple[int, int]
    whats: tuple[str, str]

    @property
    def words(self) -> str:
        one, other = (what or "none" for what in self.whats)
        return (
            f"call {self.call}: rank {self.ranks[0]} calls {one} where rank {self.ranks[1]} "
            f"calls {other}, the {_ordinal(self.place + 1)} collective of the step"
        )


def parting(called: Sequence[Sequence[Called]]) -> Parting | None:
    """Where the lists of ranks first differ from that of rank 0; None where they agree.

    Only what the whole group does together is compared. Kernels tell no group from another:
    where ranks also talk among fewer, they are left out."""
    lists = [_collectives(each) for each in called]
    if any(each.what.startswith(_AMONG_FEWER) for one in called for each in one):
        lists = [[each for each in one if not each.what.startswith(_KERNEL)] for one in lists]
    for rank in range(1, len(lists)):
        one, other = lists[0], lists[rank]
        for index in range(max(len(one), len(other))):
            pair = [each[index] if index < len(each) else None for each in (one, other)]
            if pair[0] != pair[1]:
                call = min(entry.call for entry in pair if entry is not None)
                whats = tuple(
                    entry.what if entry is not None and entry.call == call else "" for entry in pair
                )
                return Parting(call, index, (0, rank), (whats[0], whats[1]))
    return None


def missing(
    silent: Sequence[int],
    heard: Mapping[int, Heard],
    called: Sequence[Sequence[Called]],
    seconds: float,
) -> Silent:
    """What to say of `silent` ranks once the deadline is over.

    A rank that has called the fewest collectives is the one that is waited for, also where
    it has answered: then it left one out."""
    counts = [len(_collectives(each)) for each in called]
    parted = parting(called)
    fewest = min(range(len(counts)), key=lambda rank: (counts[rank], rank not in silent))
    if counts[fewest] == max(counts):
        fewest = silent[0]
    answered_with_fewer = fewest not in silent and parted is not None
    same_place = parted is not None and all(parted.whats)
    told = [_of_silent(rank, called[rank]) for rank in silent]
    told += [
        f"rank {rank} answered after {heard[rank].after:.2f} s having called {_many(called[rank])}"
        for rank in range(len(called))
        if rank not in silent
    ]
    if parted is not None and (answered_with_fewer or same_place):
        told.append(parted.words)
    return Silent(
        fewest, f"none within {seconds:g} s: {'; '.join(told)}", answered_with_fewer or same_place
    )


def _of_silent(rank: int, called: Sequence[Called]) -> str:
    if not called:
        return f"rank {rank} is in no collective"
    return f"rank {rank} is in its {_ordinal(len(called))} of this step, {called[-1].what}"


def _many(called: Sequence[Called]) -> str:
    if not called:
        return "none"
    return f"{len(called)}, the last {called[-1].what}"


def _collectives(called: Sequence[Called]) -> list[Called]:
    return [each for each in called if not each.what.startswith(_AMONG_FEWER)]


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ORDINALS.get(number % 10, "th")
    return f"{number}{ending}"
