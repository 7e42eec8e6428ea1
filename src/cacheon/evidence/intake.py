"""Takes a finished delivery into a store, whole or not at all."""

from collections.abc import Mapping
from typing import NamedTuple

from cacheon.evidence.binding import (
    Delivered,
    Expected,
    Row,
    delivery_refusal,
    expected_of,
    row_refusal,
)
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import Reason
from cacheon.evidence.minimum import refuse_older
from cacheon.evidence.observation import Observation
from cacheon.evidence.pointers import DELIVERIES, NONCES, named
from cacheon.evidence.reasons import REASONS
from cacheon.evidence.reopening import Blobs, claimed_delivery, open_delivery
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.soundness import unsound
from cacheon.evidence.store.errors import PointerTaken
from cacheon.evidence.store.limits import LIMITS
from cacheon.evidence.store.port import Store
from cacheon.evidence.veto import missing
from cacheon.records.canonical import LIMIT, decode
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused


class TakenIn(NamedTuple):
    """A delivery that counts from now on. `again`: it did before this call, too. `absent`:
    members, variants and cases of the requirement of which it shows nothing, by the codes
    with which the veto will say so."""

    requirement: str
    delivery: str
    observer: str
    observations: tuple[str, ...]
    again: bool
    absent: tuple[Reason, ...]


def take_in(
    store: Store, data: bytes, source: Blobs, *, minimum: Mapping[str, int] | None = None
) -> TakenIn:
    """Check an envelope's bytes and every observation that it lists, then keep them all.

    1. The envelope: its size, canonical bytes, types; the delivery in it likewise.
    2. The requirement that it names lies in `store` and is sound; its policy is not older
       than `minimum` says (the oldest version still graded, by the arena's name).
    3. A key that the requirement pins has signed, and everything that the delivery binds is
       the requirement's.
    4. Observations are listed sorted, once each, no more of them than there are cases.
    5. That key has not spent the nonce, unless on this very delivery.
    6. Each observation, read from `source`: its size, digest, canonical bytes, types, and all
       that it binds; a required case, seen on CUDA in the required isolation; no case twice.
    7. Only now is anything kept: observations, the envelope, the pointer that spends the
       nonce for the key, and last the one from which on the delivery counts. What a sweep took
       meanwhile is put back: from the pointer on it is reached.

    Raises RecordRefused or StoreRefused, whose `code` is one of `evidence.reasons`, before 7:
    then nothing was kept. Of two callers that spend one nonce at once the later is refused in
    7; what it kept counts for nothing and is swept. Killed in 7, the call may be repeated.
    Raises StoreFailed where the file system fails.

    The caller owes: that the requirement in the store is one that the authority published."""
    # 1.
    most = min(LIMITS.record_bytes, store.limits.record_bytes)
    if len(data) > most:
        raise RecordRefused("too-large", expected=f"at most {most} bytes", got=f"{len(data)}")
    digest, claimed = sha256(data), claimed_delivery(data, source="the delivery")
    # 2.
    requirement = _requirement(store, claimed.requirement, minimum or {})
    expected = expected_of(requirement, claimed.requirement)
    # 3.
    delivery = open_delivery(data, expected.keys)
    _refuse(delivery_refusal(expected, delivery), "the delivery")
    # 4.
    _refuse_list(delivery.observations, min(len(expected.cases), store.limits.delivery_records))
    # 5.
    spent = named(delivery.nonce, delivery.observer)
    counts = named(delivery.requirement, delivery.observer)
    for kind, name in ((NONCES, spent), (DELIVERIES, counts)):
        if store.pointer(kind, name) not in (None, digest):
            raise _spent(delivery)
    # 6.
    read = _Reader(source, expected, delivery, store.limits.delivery_bytes)
    for each in delivery.observations:
        read.check(each)
    # 7.
    for observation in read.data:
        store.put(observation)
    store.put(data)
    try:
        store.link(NONCES, spent, digest)
        fresh = store.link(DELIVERIES, counts, digest)
    except PointerTaken as taken:
        raise _spent(delivery) from taken
    # A sweep that spares nothing young may have taken some before the pointer held them.
    for name, observation in zip(delivery.observations, read.data, strict=True):
        if not store.has(name):
            store.put(observation)
    shown = Delivered(digest=digest, delivery=delivery, rows=tuple(read.rows), missing=())
    return TakenIn(
        requirement=delivery.requirement,
        delivery=digest,
        observer=delivery.observer,
        observations=delivery.observations,
        again=not fresh,
        absent=tuple(missing(requirement, shown)),
    )


class _Reader:
    """Reads and checks observations one by one, and holds their bytes."""

    def __init__(self, source: Blobs, expected: Expected, delivery: Delivery, most: int) -> None:
        self._source, self._expected, self._delivery = source, expected, delivery
        self._left, self._most = most, most
        self._cases: set[str] = set()
        self.data: list[bytes] = []
        self.rows: list[Row] = []

    def check(self, digest: str) -> None:
        """Raises RecordRefused or StoreRefused."""
        data = self._source.get(digest, LIMIT)
        # Asked again of a source that may be anybody's.
        if len(data) > LIMIT or len(data) > self._left:
            expected = f"at most {LIMIT} bytes, and {self._most} of all observations"
            raise RecordRefused("too-large", place=digest, expected=expected, got="more")
        if sha256(data) != digest:
            raise RecordRefused("corrupt", expected=f"the bytes of {digest}", got="others")
        row = decode(data, Observation, source=digest)
        _refuse(row_refusal(self._expected, self._delivery, row), digest)
        if row.case in self._cases:
            raise RecordRefused(
                "duplicate-case", file=digest, expected="one observation a case", got=row.case
            )
        self._left -= len(data)
        self._cases.add(row.case)
        self.data.append(data)
        self.rows.append(Row(digest, row))


def _requirement(store: Store, digest: str, minimum: Mapping[str, int]) -> Requirement:
    """The requirement, sound and not outdated, out of the store."""
    if not store.has(digest):
        raise RecordRefused("requirement-unknown", expected="a stored requirement", got=digest)
    most = LIMITS.record_bytes
    requirement = decode(store.get(digest), Requirement, limit=most, source=digest)
    contradictions = unsound(requirement)
    if contradictions:
        raise RecordRefused(
            "requirement-unsound",
            file=digest,
            expected="a requirement that can be graded",
            got="; ".join(contradictions),
        )
    refuse_older(requirement, minimum)
    return requirement


def _refuse(code: str, what: str) -> None:
    if code:
        raise RecordRefused(
            code, file=what, expected="what the requirement binds", got=REASONS[code].title
        )


def _refuse_list(observations: tuple[str, ...], most: int) -> None:
    if len(observations) > most:
        raise RecordRefused(
            "too-many", expected=f"at most {most} observations", got=f"{len(observations)}"
        )
    if list(observations) != sorted(set(observations)):
        raise RecordRefused(
            "not-sorted", expected="each digest once, sorted", got="another order, or one twice"
        )


def _spent(delivery: Delivery) -> RecordRefused:
    return RecordRefused(
        "nonce-spent",
        expected=f"a nonce that {delivery.observer} has not spent",
        got=delivery.nonce,
    )
