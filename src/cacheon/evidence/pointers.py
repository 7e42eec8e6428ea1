"""Which pointers commit what in a store of evidence.

| kind | name | names |
| --- | --- | --- |
| `requirement` | requirement | a requirement that was published here |
| `nonce` | nonce, key | the delivery for which this key spent it |
| `delivery` | requirement, key | a delivery that was taken in: from then on it counts |
| `grade` | requirement, grade | a grade that was published here |
"""

from typing import Final

from cacheon.evidence.binding import Committed
from cacheon.evidence.store.errors import StoreRefused
from cacheon.evidence.store.port import Store
from cacheon.records.digest import is_digest

REQUIREMENTS: Final = "requirement"
NONCES: Final = "nonce"
DELIVERIES: Final = "delivery"
GRADES: Final = "grade"


def named(*digests: str) -> str:
    """The name of a pointer."""
    return "-".join(digests)


def committed(store: Store, requirement: str) -> tuple[Committed, ...]:
    """Every delivery that was taken in for a requirement, sorted by observer. A pointer
    that cannot be read is among them, without a digest. Raises StoreFailed."""
    found: list[Committed] = []
    for name in store.names(DELIVERIES):
        of, _, observer = name.partition("-")
        if of != requirement or not is_digest(observer):
            continue
        try:
            digest = store.pointer(DELIVERIES, name)
        except StoreRefused:
            digest = None
        found.append(Committed(observer=observer, digest=digest or ""))
    return tuple(found)
