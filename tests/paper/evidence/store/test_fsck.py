"""Health and sweeping: what is found, what is removed, and what never is."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cacheon.evidence.store import DirectoryStore, Limits, StoreRefused
from cacheon.evidence.store.fsck import Health, fsck, fsck_directory
from cacheon.evidence.store.sweep import Swept, sweep
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused

ONE, TWO = b'{"one":1}', b'{"two":2}'
LIST = b'{"list":["%s","%s"]}' % (sha256(ONE).encode(), sha256(TWO).encode())


def references(data: bytes) -> list[str]:
    """What LIST names; a record that cannot be read is refused."""
    if data == b"unreadable":
        raise RecordRefused("not-a-record", expected="a record", got="none")
    return [digest for digest in map(sha256, (ONE, TWO)) if digest.encode() in data]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[DirectoryStore]:
    """Two records that a listed record names, and a pointer that commits them."""
    with DirectoryStore.open(root, create=True, limits=Limits(record_bytes=500)) as store:
        store.put(ONE)
        store.put(TWO)
        store.link("deliveries", sha256(LIST), store.put(LIST))
        yield store


def place(root: Path, data: bytes) -> Path:
    return root / "blobs" / sha256(data)[:2] / sha256(data)


def replaced(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


def looked(store: DirectoryStore) -> dict[str, tuple[str, ...]]:
    """The fields that name something."""
    health = fsck(store, references)
    fields = Health.__struct_fields__[2:-1]
    seen = {field: getattr(health, field) for field in fields if getattr(health, field)}
    assert health.sound == (not set(seen) - {"orphans", "leftovers"})
    return seen


def test_a_sound_store(store: DirectoryStore) -> None:
    size = len(ONE) + len(TWO) + len(LIST)
    assert fsck(store, references) == Health(blobs=3, bytes=size)
    assert fsck(store, references).sound


def test_what_an_interrupted_publisher_leaves_is_sound(store: DirectoryStore, root: Path) -> None:
    orphan = store.put(b'{"orphan":1}')
    (root / "tmp" / "spare").touch()
    os.link(place(root, ONE), root / "tmp" / "linked")
    assert looked(store) == {"orphans": (orphan,), "leftovers": ("linked", "spare")}


def test_guests_are_left_alone(store: DirectoryStore, root: Path) -> None:
    (root / "log").mkdir()
    (root / "log" / "entries").touch()
    (root / "index.sqlite").touch()
    (root / "index.sqlite-journal").touch()
    assert looked(store) == {}
    (root / "index.sqlite").unlink()
    (root / "index.sqlite").symlink_to("log")
    assert looked(store) == {"links": ("index.sqlite",)}


one, two, listed = sha256(ONE), sha256(TWO), sha256(LIST)
first = f"blobs/{one[:2]}"
DAMAGE: dict[str, tuple[Callable[[Path], object], dict[str, tuple[str, ...]]]] = {
    "corrupt": (lambda root: replaced(place(root, ONE), TWO), {"corrupt": (one,)}),
    "truncated": (lambda root: replaced(place(root, ONE), ONE[:-1]), {"truncated": (one,)}),
    "empty": (lambda root: replaced(place(root, ONE), b""), {"truncated": (one,)}),
    "oversize": (lambda root: replaced(place(root, ONE), b" " * 501), {"oversize": (one,)}),
    "missing": (lambda root: place(root, ONE).unlink(), {"missing": (one,)}),
    "list missing": (lambda root: place(root, LIST).unlink(), {"missing": (listed,)}),
    "list corrupt": (lambda root: replaced(place(root, LIST), ONE), {"corrupt": (listed,)}),
    "hard link": (
        lambda root: os.link(place(root, ONE), root / "again"),
        {"links": (one,), "foreign": ("again",), "unread": (one,)},
    ),
    "link": (
        lambda root: (
            place(root, ONE).rename(root.parent / "x") and place(root, ONE).symlink_to("x")
        ),
        {"links": (f"{first}/{one}",), "unread": (one,)},
    ),
    "loose link": (
        lambda root: (root / first / "loose").symlink_to("nowhere"),
        {"links": (f"{first}/loose",)},
    ),
    "FIFO": (lambda root: os.mkfifo(root / first / "f"), {"foreign": (f"{first}/f",)}),
    "FIFO for a blob": (
        lambda root: os.mkfifo(root / first / (one[:2] + "0" * 62)),
        {"foreign": (f"{first}/{one[:2]}{'0' * 62}",)},
    ),
    "directory": (lambda root: (root / first / "d").mkdir(), {"foreign": (f"{first}/d",)}),
    "wrong prefix": (
        lambda root: (root / first / ("f" + two[1:])).write_bytes(b""),
        {"foreign": (f"{first}/f{two[1:]}",)},
    ),
    "other directory": (lambda root: (root / "blobs/XY").mkdir(), {"foreign": ("blobs/XY",)}),
    "file for a prefix": (lambda root: (root / "blobs/zz").touch(), {"foreign": ("blobs/zz",)}),
    "linked prefix": (
        lambda root: (root / "blobs/zz").symlink_to("."),
        {"links": ("blobs/zz",)},
    ),
    "top": (lambda root: (root / "notes").touch(), {"foreign": ("notes",)}),
    "top link": (lambda root: (root / "notes").symlink_to("."), {"links": ("notes",)}),
    "kind": (lambda root: (root / "pointers/a.b").mkdir(), {"foreign": ("pointers/a.b",)}),
    "pointer": (
        lambda root: replaced(root / "pointers/deliveries" / listed, b"latest\n"),
        {"pointers": (f"deliveries/{listed}",)},
    ),
    "pointer's name": (
        lambda root: (root / "pointers/deliveries/latest").touch(),
        {"foreign": ("pointers/deliveries/latest",)},
    ),
    "tmp": (lambda root: (root / "tmp/d").mkdir(), {"foreign": ("tmp/d",)}),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_each_kind_of_damage_is_told(store: DirectoryStore, root: Path, kind: str) -> None:
    damage, seen = DAMAGE[kind]
    damage(root)
    assert looked(store) == seen


@pytest.mark.parametrize("room", ["blobs", "pointers", "tmp"])
def test_a_room_that_was_swapped(root: Path, store: DirectoryStore, room: str) -> None:
    (root / room).rename(root.parent / "moved")
    (root / room).symlink_to(root.parent / "moved")
    with DirectoryStore.open(root) as again:
        assert room in looked(again)["links"]


def test_what_cannot_be_read_further_is_told_and_keeps_the_orphans(
    store: DirectoryStore,
) -> None:
    unread, orphan = store.put(b"unreadable"), store.put(b'{"orphan":1}')
    assert looked(store) == {"orphans": tuple(sorted([unread, orphan]))}
    store.link("grades", unread, unread)
    assert looked(store) == {"unread": (unread,)}


def test_what_goes_while_it_looks_is_no_damage(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = store.put(b'{"orphan":1}')
    monkeypatch.setattr(os, "listdir", lambda room, real=os.listdir: [*real(room), "gone"])
    assert looked(store) == {"orphans": (orphan,)}
    monkeypatch.undo()
    gone = b'{"gone":1}'
    store.put(gone)
    real = os.stat

    def swept(path: str, **kwargs: object) -> os.stat_result:
        info = real(path, **kwargs)  # type: ignore[arg-type]
        if path == sha256(gone):
            place(root, gone).unlink(missing_ok=True)
        return info

    monkeypatch.setattr(os, "stat", swept)
    assert looked(store) == {"orphans": (orphan,)}


def aged(path: Path, seconds: float = 1000) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_the_sweep_takes_what_is_old_and_not_reached(store: DirectoryStore, root: Path) -> None:
    orphan, young = store.put(b'{"orphan":1}'), store.put(b'{"young":1}')
    for path in root.rglob("*"):
        aged(path)
    aged(place(root, b'{"young":1}'), 10)
    (root / "tmp" / "old").write_bytes(b"123")
    (root / "tmp" / "new").touch()
    (root / "tmp" / "directory").mkdir()
    aged(root / "tmp" / "old")
    aged(root / "tmp" / "directory")
    assert sweep(store, references, older_than=60) == Swept(
        leftovers=("old",), orphans=(orphan,), bytes=3 + len(b'{"orphan":1}')
    )
    assert looked(store) == {
        "orphans": (young,),
        "leftovers": ("new",),
        "foreign": ("tmp/directory",),
    }


def test_publishing_again_makes_an_orphan_young(store: DirectoryStore, root: Path) -> None:
    orphan = store.put(b'{"orphan":1}')
    aged(place(root, b'{"orphan":1}'))
    assert store.put(b'{"orphan":1}') == orphan
    assert sweep(store, references, older_than=60).orphans == ()


@pytest.mark.parametrize("kind", ["list missing", "list corrupt", "pointer", "missing"])
def test_where_reach_is_unknown_no_blob_is_swept(
    store: DirectoryStore, root: Path, kind: str
) -> None:
    """Evidence must not go because the record that lists it was damaged."""
    DAMAGE[kind][0](root)
    (root / "tmp" / "old").touch()
    with pytest.raises(StoreRefused) as caught:
        sweep(store, references, older_than=-5)
    assert caught.value.code == "damaged"
    assert store.get(two) == TWO
    assert not (root / "tmp" / "old").exists()


def test_a_sweep_and_a_publisher_exclude_each_other(store: DirectoryStore, root: Path) -> None:
    """A publisher that comes while a sweep looks waits until it has removed."""
    orphan = b'{"orphan":1}'
    store.put(orphan)
    done = threading.Event()

    def publish() -> None:
        with DirectoryStore.open(root) as other:
            other.put(orphan)
        done.set()

    with store.locked(fcntl.LOCK_EX):
        thread = threading.Thread(target=publish)
        thread.start()
        assert not done.wait(0.2)
    thread.join()
    assert done.is_set() and store.get(sha256(orphan)) == orphan


def test_a_dry_run_tells_the_same_and_removes_nothing(store: DirectoryStore, root: Path) -> None:
    store.put(b'{"orphan":1}')
    (root / "tmp" / "old").touch()
    told = sweep(store, references, older_than=-5, dry_run=True)
    assert len(told.orphans) == len(told.leftovers) == 1
    assert sweep(store, references, older_than=-5) == told
    assert sweep(store, references, older_than=-5).orphans == ()


# --- a store that was never finished ---------------------------------------------------------


@pytest.mark.parametrize("tmp", [None, (), ("format.0123456789abcdef", "format." + "f" * 16)])
def test_where_making_a_store_stopped_nothing_was_lost(
    tmp: tuple[str, ...] | None, tmp_path: Path
) -> None:
    if tmp is not None:
        (tmp_path / "tmp").mkdir()
        for name in tmp:
            (tmp_path / "tmp" / name).write_bytes(b"cacheon-s")
    health = fsck_directory(tmp_path, references)
    assert health == Health(unfinished=True) and health.sound
    with DirectoryStore.open(tmp_path, create=True):
        health = fsck_directory(tmp_path, references)
    assert health.sound and not health.unfinished and health.leftovers == (tmp or ())


@pytest.mark.parametrize("left", ["blobs", "pointers", "log", "notes", "tmp/notes", "tmp/format"])
def test_what_held_something_is_not_taken_for_unfinished(left: str, tmp_path: Path) -> None:
    (tmp_path / left).mkdir(parents=True)
    with pytest.raises(StoreRefused) as caught:
        fsck_directory(tmp_path, references)
    assert caught.value.code == "not-a-store"


def test_no_directory_is_no_unfinished_store(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused) as caught:
        fsck_directory(tmp_path / "none", references)
    assert caught.value.code == "not-a-store"
