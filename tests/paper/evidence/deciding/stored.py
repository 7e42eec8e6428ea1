"""The world of `world`, signed by real keys and kept in a real store."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from tests.paper.evidence.deciding.world import RUNS, WANTED, digest_of, rows_of

from cacheon.evidence.delivery import DELIVERY, DELIVERY_TYPE, Delivery
from cacheon.evidence.envelope import seal
from cacheon.evidence.keys import PREFIX, Key
from cacheon.evidence.observation import Observation
from cacheon.evidence.requirement import Observer, Requirement
from cacheon.evidence.store import DirectoryStore, StoreRefused
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

SIGNERS = tuple(Key(bytes([number]) * 32) for number in range(1, 4))
PUBLIC = tuple(key.public.removeprefix(PREFIX) for key in SIGNERS)
PINNED = msgspec.structs.replace(
    WANTED,
    observers=tuple(
        Observer(key=key, name=f"lab {number}") for number, key in enumerate(PUBLIC[:2])
    ),
)
DIGEST = digest_of(PINNED)


class Box:
    """Bytes under names, as an observer's machine hands them over: it checks nothing."""

    def __init__(self, *rows: Observation) -> None:
        self.blobs = {digest_of(row): encode(row) for row in rows}

    def get(self, digest: str, limit: int | None = None) -> bytes:
        if digest not in self.blobs:
            raise StoreRefused("missing", expected="a stored file", got="none")
        return self.blobs[digest]


def a_store(path: Path, requirement: Requirement = PINNED) -> DirectoryStore:
    """A store that holds the requirement."""
    store = DirectoryStore.open(path / "store", create=True, fsync=False)
    store.put(encode(requirement))
    return store


def pinned_rows(run: str = RUNS[0], requirement: Requirement = PINNED) -> list[Observation]:
    return rows_of(requirement, run)


def statement(
    rows: Sequence[Observation],
    *,
    signer: int = 0,
    run: str = RUNS[0],
    requirement: Requirement = PINNED,
) -> Delivery:
    return Delivery(
        schema=DELIVERY,
        requirement=digest_of(requirement),
        nonce=requirement.nonce,
        run=run,
        launch=digest_of(requirement.launch),
        observer=PUBLIC[signer],
        observations=tuple(sorted({digest_of(row) for row in rows})),
    )


def sealed(delivery: Delivery, *signers: int) -> bytes:
    """The envelope of a delivery, signed by its observer or by others."""
    numbers = signers or (PUBLIC.index(delivery.observer),)
    return seal(encode(delivery), DELIVERY_TYPE, [SIGNERS[number] for number in numbers])


def kept(store: DirectoryStore) -> tuple[set[str], list[str]]:
    """Everything that a store holds: blobs, and pointers."""
    pointers = [f"{kind}/{name}" for kind in store.kinds() for name in store.names(kind)]
    return set(store.digests()), pointers


def name_of(data: bytes) -> str:
    return sha256(data)
