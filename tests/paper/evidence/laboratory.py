"""The small world of `deciding.world` with keys that sign: requirements, deliveries, stores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.paper.evidence.deciding.world import LAUNCHED, RUNS, WANTED, digest_of, rows_of

from cacheon.evidence.delivery import DELIVERY, DELIVERY_TYPE, Delivery
from cacheon.evidence.envelope import seal
from cacheon.evidence.keys import PREFIX, SECRET, Key
from cacheon.evidence.observation import Observation
from cacheon.evidence.requirement import Observer, Requirement
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import encode

SEEDS = tuple(bytes([number]) * 32 for number in range(1, 5))
LABS = tuple(Key(seed) for seed in SEEDS)


def public(key: Key) -> str:
    return key.public.removeprefix(PREFIX)


REQUIRED: Requirement = msgspec.structs.replace(
    WANTED,
    observers=tuple(Observer(key=public(key), name=f"lab{n}") for n, key in enumerate(LABS[:3])),
)


def required(**changes: Any) -> Requirement:
    return msgspec.structs.replace(REQUIRED, **changes)


def write_key(path: Path, number: int = 0) -> Path:
    """The secret of a lab in a file, as `keys new` would leave it."""
    path.write_text(f"{SECRET}{SEEDS[number].hex()}\n")
    path.chmod(0o600)
    return path


def a_body(
    rows: Sequence[Observation], requirement: Requirement = REQUIRED, lab: int = 0, **changes: Any
) -> Delivery:
    body = Delivery(
        schema=DELIVERY,
        requirement=digest_of(requirement),
        nonce=requirement.nonce,
        run=RUNS[lab],
        launch=digest_of(LAUNCHED),
        observer=public(LABS[lab]),
        observations=tuple(sorted(digest_of(row) for row in rows)),
    )
    return msgspec.structs.replace(body, **changes)


def sealed(body: Delivery, lab: int = 0) -> bytes:
    return seal(encode(body), DELIVERY_TYPE, [LABS[lab]])


def seen_by(lab: int = 0, requirement: Requirement = REQUIRED) -> list[Observation]:
    """What a lab saw of every case: all of it right."""
    return rows_of(requirement, RUNS[lab])


def deliver(
    store: DirectoryStore,
    rows: Sequence[Observation] | None = None,
    requirement: Requirement = REQUIRED,
    lab: int = 0,
) -> str:
    """Publish a requirement and one lab's run of it, uncommitted; the delivery's digest."""
    store.put(encode(requirement))
    seen = seen_by(lab, requirement) if rows is None else rows
    for row in seen:
        store.put(encode(row))
    return store.put(sealed(a_body(seen, requirement, lab), lab))


def an_observers_store(
    path: Path,
    rows: Sequence[Observation] | None = None,
    requirement: Requirement = REQUIRED,
    lab: int = 0,
) -> str:
    """A store as `observe` leaves it; the delivery's digest."""
    with DirectoryStore.open(path, create=True) as store:
        digest = deliver(store, rows, requirement, lab)
        store.link("sent", f"{digest_of(requirement)}-{public(LABS[lab])}", digest)
    return digest
