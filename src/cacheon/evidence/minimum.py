"""The oldest version of an arena that a store still grades by: it only ever rises.

| kind | name | names |
| --- | --- | --- |
| `minimum` | arena's name hashed, record | one minimum that was set here |

Each is a record under a pointer of its own, so that none can be taken back: the highest
counts. Who offers an older policy afterwards is refused with `policy-older`.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

from cacheon.evidence.pointers import named
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.store.port import Store
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused
from cacheon.records.strict import Record

MINIMA: Final = "minimum"
MINIMUM: Final = "cacheon/minimum/1"


class Minimum(Record):
    """From now on no policy of `arena` below `version`."""

    schema: Literal["cacheon/minimum/1"]
    arena: str
    version: Annotated[int, msgspec.Meta(ge=0)]


def raise_minimum(store: Store, arena: str, version: int) -> None:
    """Remember it for ever. A lower one than is known changes nothing."""
    digest = store.put(encode(Minimum(schema=MINIMUM, arena=arena, version=version)))
    store.link(MINIMA, named(sha256(arena.encode()), digest), digest)


def minima(store: Store) -> dict[str, int]:
    """The oldest versions that count, by the arena's name. One that cannot be read is refused,
    not passed over: raises RecordRefused, StoreRefused."""
    oldest: dict[str, int] = {}
    for name in store.names(MINIMA):
        # The name says which record it is: what the pointer's file holds need not be asked.
        digest = name.rpartition("-")[2]
        found = decode(store.get(digest), Minimum, source=digest)
        oldest[found.arena] = max(found.version, oldest.get(found.arena, 0))
    return oldest


def refuse_older(requirement: Requirement, oldest: Mapping[str, int]) -> None:
    """Raises RecordRefused (`policy-older`) where its arena's version is below the oldest."""
    policy = requirement.policy
    if policy.version < oldest.get(policy.arena, 0):
        raise RecordRefused(
            "policy-older",
            expected=f"arena {policy.arena} {oldest[policy.arena]} or newer",
            got=f"{policy.version}",
        )
