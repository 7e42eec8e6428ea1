"""From digests to records: everything is read again, and what cannot be is set aside."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

from cacheon.evidence.binding import Committed, Delivered, Row
from cacheon.evidence.delivery import DELIVERY_TYPE, Delivery
from cacheon.evidence.envelope import MOST, Envelope, Pin, opened
from cacheon.evidence.grade import SetAside
from cacheon.evidence.keys import PREFIX
from cacheon.evidence.observation import Observation
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.store.errors import StoreFailed, StoreRefused
from cacheon.evidence.store.limits import LIMITS
from cacheon.records.canonical import LIMIT, decode
from cacheon.records.digest import is_digest
from cacheon.records.errors import InputError, RecordRefused, one_line

OBSERVER: Final = "observer"
"""The role in which a requirement pins keys."""
T = TypeVar("T")


class Blobs(Protocol):
    """As much of a store as reopening needs."""

    def get(self, digest: str, limit: int | None = None) -> bytes:
        """`store.port.Store.get`: bytes whose digest was checked, or StoreRefused."""
        ...


class Reopened(NamedTuple):
    """What could be read for the requirement stored under `digest`, and what could not."""

    digest: str
    requirement: Requirement | None
    delivered: tuple[Delivered, ...]
    lost: tuple[Committed, ...]
    set_aside: tuple[SetAside, ...]


def reopen(blobs: Blobs, digest: str, deliveries: Iterable[Committed]) -> Reopened:
    """Read a requirement, deliveries for it and every observation that they list.

    1. The requirement, from its bytes; without it nothing else is looked at.
    2. Each delivery: the bytes, through the gate; signed by the observer that it names, whose
       key the requirement pins. Bytes that cannot be had are a delivery that is lost; bytes
       that are no such delivery are none, and change nothing. Under the name of a pinned key
       nothing is ever committed but its own delivery: where it names anything else, the one
       that it named is lost.
    3. Each observation that a delivery lists: the bytes, through the gate. One that cannot be
       read as an observation is missing, whatever the cause: it was signed for.

    Damage ends in `set_aside`, never in an exception. Raises RecordRefused (`not-a-digest`)
    for a `digest` that is none."""
    if not is_digest(digest):
        raise RecordRefused("not-a-digest", expected="64 lower-case hex", got=ascii(digest)[:80])
    reader = _Reader(blobs)
    # 1.
    requirement = reader.record(digest, Requirement, LIMITS.record_bytes)
    if requirement is None:
        return Reopened(digest, None, (), (), reader.set_aside())
    keys = frozenset(observer.key for observer in requirement.observers)
    delivered: list[Delivered] = []
    lost: list[Committed] = []
    for each in deliveries:
        # 2.
        data = reader.committed(each)
        if data is None:
            lost.append(each)
            continue
        delivery = reader.delivery(each.digest, data, keys)
        if each.observer in keys and not _is_of(delivery, each.observer, digest):
            lost.append(each)
        if delivery is None:
            continue
        # 3.
        rows: list[Row] = []
        missing: list[str] = []
        for name in sorted(set(delivery.observations)):
            row = reader.observation(name)
            if row is None:
                missing.append(name)
            else:
                rows.append(Row(name, row))
        delivered.append(Delivered(each.digest, delivery, tuple(rows), tuple(missing)))
    return Reopened(digest, requirement, tuple(delivered), tuple(lost), reader.set_aside())


def claimed_delivery(data: bytes, *, source: str = "") -> Delivery:
    """What an envelope's bytes say, whoever may have signed: only to know which keys to try,
    never to be believed. Raises RecordRefused."""
    return _claimed(data, source)[1]


def open_delivery(data: bytes, keys: Collection[str]) -> Delivery:
    """The delivery in an envelope's bytes, signed by the observer that it names.

    Raises RecordRefused: `key-not-pinned` where the observer is none of `keys`, `unsigned`
    where it did not sign, and what the gate and the envelope refuse."""
    envelope, delivery = _claimed(data, "")
    if delivery.observer not in keys:
        raise RecordRefused("key-not-pinned", expected="a pinned key", got=delivery.observer)
    pin = Pin(key=PREFIX + delivery.observer, role=OBSERVER)
    opened(envelope, DELIVERY_TYPE, [pin], role=OBSERVER)
    return delivery


def _claimed(data: bytes, source: str) -> tuple[Envelope, Delivery]:
    claimed = decode(data, Envelope, limit=MOST, source=source)
    if claimed.payload_type != DELIVERY_TYPE:
        raise RecordRefused(
            "payload-type",
            file=source,
            expected=DELIVERY_TYPE,
            got=ascii(claimed.payload_type)[:80],
        )
    delivery = decode(claimed.payload, Delivery, limit=LIMITS.record_bytes, source=source)
    return claimed, delivery


def _is_of(delivery: Delivery | None, observer: str, requirement: str) -> bool:
    return delivery is not None and (delivery.observer, delivery.requirement) == (
        observer,
        requirement,
    )


class _Reader:
    """Reads records by digest; refusals are kept, each digest and code once."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._refused: dict[tuple[str, str], SetAside] = {}
        self._observations: dict[str, Observation | None] = {}

    def set_aside(self) -> tuple[SetAside, ...]:
        return tuple(self._refused[key] for key in sorted(self._refused))

    def record(self, digest: str, kind: type[T], limit: int) -> T | None:
        data = self._data(digest, limit)
        if data is None:
            return None
        try:
            return decode(data, kind, limit=limit)
        except RecordRefused as refusal:
            self._refuse(digest, refusal.code, _said(refusal))
        return None

    def observation(self, digest: str) -> Observation | None:
        """Read once, however many deliveries list it."""
        if digest not in self._observations:
            self._observations[digest] = self.record(digest, Observation, LIMIT)
        return self._observations[digest]

    def committed(self, delivery: Committed) -> bytes | None:
        if delivery.digest:
            return self._data(delivery.digest, None)
        self._refuse(delivery.observer, "pointer", "the pointer of this key's delivery")
        return None

    def delivery(self, digest: str, data: bytes, keys: Collection[str]) -> Delivery | None:
        try:
            return open_delivery(data, keys)
        except RecordRefused as refusal:
            self._refuse(digest, refusal.code, _said(refusal))
        return None

    def _data(self, digest: str, limit: int | None) -> bytes | None:
        try:
            return self._blobs.get(digest, limit)
        except StoreRefused as refusal:
            self._refuse(digest, refusal.code, _said(refusal))
        except StoreFailed as failure:
            self._refuse(digest, failure.code, "")
        return None

    def _refuse(self, digest: str, code: str, detail: str) -> None:
        self._refused[digest, code] = SetAside(what=digest, code=code, detail=detail)


def _said(refusal: InputError) -> str:
    """What was expected and what came: without the file, which differs between machines."""
    return one_line(f"expected {refusal.expected}, got {refusal.got}", 200)
