"""The list of a store, `index.sqlite` and the journal beside it: a database that somebody else
may have written."""

import functools

from tests.fuzz.targets import records
from tests.fuzz.targets.target import Target, parts, refused, room

from cacheon.evidence.kinds import describe
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.index import FILE, Index, Listed
from cacheon.records.errors import CacheonError

_FILES = (FILE, FILE + "-journal")


def check(data: bytes) -> bool:
    """1. Whatever the file is, the store has a list: text in every place. 2. Made anew, it is
    the true one. True where the file was taken for a list and left as it was."""
    path = room("index") / "store"
    file = path / FILE
    for end in ("-journal", "-wal", "-shm"):
        path.joinpath(FILE + end).unlink(missing_ok=True)
    with DirectoryStore.open(path, create=True, fsync=False) as store:
        for record in _stored():
            store.put(record)
        for name, body in parts(data, _FILES).items():
            (path / name).write_bytes(body)
        try:
            with Index(store, describe) as index:
                for row in index.ls():
                    _is_text(row)
                assert all(isinstance(digest, str) for digest in index.find("a"))
                kept = file.read_bytes() == data
                index.rebuild()
                assert index.ls() == _truth(store)
        except CacheonError as error:
            return refused(error)
    return kept


def _is_text(row: Listed) -> None:
    said = [row.kind, row.digest, *row.facts, *row.facts.values()]
    assert all(isinstance(each, str) for each in said), row


def _truth(store: DirectoryStore) -> list[Listed]:
    rows = []
    for digest in store.digests():
        kind, facts = describe(store.get(digest))
        rows.append(Listed(kind=kind, digest=digest, facts=facts))
    return sorted(rows, key=lambda row: (row.kind, row.digest))


@functools.cache
def _stored() -> list[bytes]:
    """What the store holds: a few records that stand alone."""
    alone = (b"grade/1", b"launch/1", b"observation/1", b"requirement/1")
    return [
        record
        for record in records.seeds()
        if any(b'"schema":"cacheon/' + name in record for name in alone)
    ]


def seeds() -> list[bytes]:
    """The list as it is written."""
    path = room("index-seed") / "store"
    with DirectoryStore.open(path, create=True, fsync=False) as store:
        for record in _stored():
            store.put(record)
        with Index(store, describe):
            pass
    return [(path / FILE).read_bytes()]


TARGET = Target(
    "index",
    check,
    seeds,
    words=(
        b"SQLite format 3\0",
        b"CREATE TABLE record",
        b"CREATE VIEW",
        b"CREATE TRIGGER",
        b"\n--- index.sqlite-journal\n",
        bytes.fromhex("d9d505f920a163d7"),
        b"\0" * 512,
    ),
    most=1 << 16,
)
