"""The list beside a store: made from the blobs, and never more than a list."""

import json
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.fsck import fsck
from cacheon.evidence.store.index import FILE, UNREADABLE, Index, Listed
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused

GRADES = [b'{"kind":"grade","target":"norm"}', b'{"kind":"grade","target":"moe"}']
OTHER = b'{"kind":"requirement","target":"norm"}'
read: list[str] = []


def describe(data: bytes) -> tuple[str, dict[str, str]]:
    read.append(sha256(data))
    try:
        said = json.loads(data)
    except ValueError as error:
        raise RecordRefused("not-a-record", expected="a record", got="none") from error
    return said["kind"], {"target": said["target"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[DirectoryStore]:
    with DirectoryStore.open(root, create=True) as store:
        for data in (*GRADES, OTHER):
            store.put(data)
        read.clear()
        yield store


def listed(data: bytes) -> Listed:
    said = json.loads(data)
    return Listed(kind=said["kind"], digest=sha256(data), facts={"target": said["target"]})


EVERYTHING = sorted(map(listed, (*GRADES, OTHER)), key=lambda row: (row.kind, row.digest))


def rows(store: DirectoryStore) -> list[Listed]:
    with Index(store, describe) as index:
        return index.ls()


def test_records_are_listed_by_kind_and_facts(store: DirectoryStore) -> None:
    with Index(store, describe) as index:
        assert index.ls() == EVERYTHING
        assert index.ls("requirement") == [listed(OTHER)]
        assert index.ls("grade", target="moe") == [listed(GRADES[1])]
        assert index.ls(target="norm", kind="grade") == [listed(GRADES[0])]
        assert index.ls("grade", target="moe' OR '1") == index.ls("none") == []
        assert index.find(sha256(OTHER)[:12]) == [sha256(OTHER)]
        assert index.find("") == sorted(row.digest for row in EVERYTHING)
        assert index.find("%") == index.find("_") == []


def test_a_record_is_read_once(store: DirectoryStore) -> None:
    rows(store)
    assert len(read) == 3
    new = b'{"kind":"grade","target":"new"}'
    store.put(new)
    assert listed(new) in rows(store)
    assert read[3:] == [sha256(new)]


def test_what_went_and_what_came_meanwhile(store: DirectoryStore, root: Path) -> None:
    with Index(store, describe) as index:
        (root / "blobs" / sha256(OTHER)[:2] / sha256(OTHER)).unlink()
        store.put(b"no record")
        index.refresh()
        unread = Listed(
            kind=UNREADABLE, digest=sha256(b"no record"), facts={"code": "not-a-record"}
        )
        assert index.ls() == [*EVERYTHING[:2], unread]


def test_a_damaged_blob_is_listed_as_such(store: DirectoryStore, root: Path) -> None:
    path = root / "blobs" / sha256(OTHER)[:2] / sha256(OTHER)
    path.chmod(0o600)
    path.write_bytes(b"other")
    assert Listed(kind=UNREADABLE, digest=sha256(OTHER), facts={"code": "corrupt"}) in rows(store)


def test_tampering_changes_the_list_and_nothing_else(store: DirectoryStore, root: Path) -> None:
    rows(store)
    with sqlite3.connect(root / FILE) as database:
        database.execute("UPDATE record SET kind = x'ff00' WHERE digest = ?", (sha256(OTHER),))
        database.execute("UPDATE fact SET value = CAST(x'ff' AS TEXT), name = 7")
    database.close()
    with Index(store, describe) as index:
        assert index.ls() != EVERYTHING
        index.rebuild()
        assert index.ls() == EVERYTHING
    assert store.get(sha256(OTHER)) == OTHER and fsck(store, lambda data: ()).sound


def not_a_database(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to look at" * 100)


def another_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE record (digest, kind)")
        database.execute("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END")
    database.close()


def damaged_pages(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))


def linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def hard_linked(path: Path) -> None:
    os.link(path, path.with_name("second"))


@pytest.mark.parametrize(
    "tamper",
    [Path.unlink, not_a_database, another_schema, damaged_pages, linked, hard_linked],
)
def test_a_file_that_is_no_list_is_made_anew(
    store: DirectoryStore, root: Path, tamper: object
) -> None:
    rows(store)
    assert callable(tamper)
    tamper(root / FILE)
    assert rows(store) == EVERYTHING
    assert (root / FILE).is_file() and not (root / FILE).is_symlink()
    assert (root / FILE).stat().st_nlink == 1
    assert rows(store) == EVERYTHING


def test_where_no_file_can_be_written_the_list_is_in_memory(
    store: DirectoryStore, root: Path
) -> None:
    (root / FILE).mkdir()
    assert rows(store) == EVERYTHING
    assert (root / FILE).is_dir()


def test_while_another_writes_the_list_is_in_memory(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(store)
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: real(path, timeout=0, **more))
    other = real(root / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert rows(store) == EVERYTHING
    finally:
        other.close()


def test_a_list_that_cannot_be_finished_is_not_begun(store: DirectoryStore, root: Path) -> None:
    def breaks(data: bytes) -> tuple[str, dict[str, str]]:
        raise KeyError("a fault of our own")

    with pytest.raises(KeyError):
        Index(store, breaks)
    with Index(store, describe) as index:
        index._describe = breaks
        with pytest.raises(KeyError):
            index.rebuild()
        assert index.ls() == EVERYTHING


def test_a_file_whose_very_error_is_no_text_is_made_anew(store: DirectoryStore, root: Path) -> None:
    rows(store)
    file = root / FILE
    # sqlite quotes the statement that it cannot read.
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE fact", b"CREATE \xffABLE fact"))
    assert rows(store) == EVERYTHING


def hot_journal(file: Path, names: Path | None = None) -> None:
    """Leave the list as a writer that died in the middle leaves it; with `names`, as one of
    several databases that were written together, in the manner of sqlite."""
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA cache_size = 1")
    database.execute("BEGIN")
    database.execute("DELETE FROM fact")
    database.executemany("INSERT INTO record VALUES (?, 'x')", [(f"{n}",) for n in range(3000)])
    journal = file.with_name(file.name + "-journal")
    half, kept = file.read_bytes(), journal.read_bytes()
    database.execute("ROLLBACK")
    database.close()
    if names is not None:
        name = bytes(names)
        locked = 0x40000000 // 4096 + 1
        kept += struct.pack(">I", locked) + name + struct.pack(">II", len(name), sum(name))
        kept += bytes.fromhex("d9d505f920a163d7")
    file.write_bytes(half)
    journal.write_bytes(kept)


def test_what_a_dead_writer_left_is_undone(store: DirectoryStore, root: Path) -> None:
    rows(store)
    hot_journal(root / FILE)
    read.clear()
    assert rows(store) == EVERYTHING
    assert read == []


def test_no_journal_has_another_file_removed(store: DirectoryStore, root: Path) -> None:
    rows(store)
    victim = root.with_name("somebody's")
    victim.write_text("of value")
    hot_journal(root / FILE, victim)
    assert rows(store) == EVERYTHING
    assert victim.read_text() == "of value"
    assert not (root / f"{FILE}-journal").exists()


@pytest.mark.parametrize("end", ["", "-journal", "-wal", "-shm"])
def test_what_blocks_or_leads_elsewhere_is_removed(
    store: DirectoryStore, root: Path, end: str
) -> None:
    rows(store)
    place, other = root / f"{FILE}{end}", root.with_name("other")
    other.write_text("of value")
    for put in (
        lambda: os.mkfifo(place),
        lambda: os.link(other, place),
        lambda: os.symlink(other, place),
    ):
        place.unlink(missing_ok=True)
        put()
        assert rows(store) == EVERYTHING
        assert other.read_text() == "of value"
