"""The oldest policy that counts only ever rises."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.paper.evidence.deciding.world import WANTED

from cacheon.evidence.minimum import MINIMA, Minimum, minima, raise_minimum, refuse_older
from cacheon.evidence.pointers import named
from cacheon.evidence.store import DirectoryStore, StoreRefused
from cacheon.records.canonical import decode
from cacheon.records.errors import RecordRefused


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectoryStore]:
    with DirectoryStore.open(tmp_path / "store", create=True, fsync=False) as store:
        yield store


def test_the_highest_counts_for_each_arena(store: DirectoryStore) -> None:
    assert minima(store) == {}
    for version in (2, 3, 1, 3):
        raise_minimum(store, "h200", version)
    raise_minimum(store, "b200", 0)
    assert minima(store) == {"h200": 3, "b200": 0}
    assert len(list(store.names(MINIMA))) == 4


def test_an_older_policy_is_refused() -> None:
    policy = WANTED.policy
    refuse_older(WANTED, {})
    refuse_older(WANTED, {policy.arena: policy.version, "another": 99})
    with pytest.raises(RecordRefused) as caught:
        refuse_older(WANTED, {policy.arena: policy.version + 1})
    assert caught.value.code == "policy-older"
    assert str(caught.value) == "policy-older: expected arena h200 4 or newer, got 3"


def test_one_that_cannot_be_read_is_not_passed_over(store: DirectoryStore, tmp_path: Path) -> None:
    raise_minimum(store, "h200", 2)
    raise_minimum(store, "h200", 3)
    (digest, *_) = [
        each for each in store.digests() if decode(store.get(each), Minimum).version == 3
    ]
    (tmp_path / "store" / "blobs" / digest[:2] / digest).unlink()
    with pytest.raises(StoreRefused):
        minima(store)


def test_a_pointer_that_was_made_to_name_another_changes_nothing(
    store: DirectoryStore, tmp_path: Path
) -> None:
    raise_minimum(store, "h200", 3)
    (name,) = store.names(MINIMA)
    pointer = tmp_path / "store" / "pointers" / MINIMA / name
    pointer.unlink()
    pointer.write_text("0" * 64 + "\n")
    assert minima(store) == {"h200": 3}


def test_one_that_is_another_record_is_named(store: DirectoryStore) -> None:
    digest = store.put(b"{}")
    store.link(MINIMA, named(digest, digest), digest)
    with pytest.raises(RecordRefused, match=f"{digest}: not-a-record: expected a Minimum"):
        minima(store)
