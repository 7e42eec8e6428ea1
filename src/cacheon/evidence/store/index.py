"""A list of what a store holds, for `ls` and `show`: kind, digest and a few facts.

It is made from the blobs, may be deleted at any time, and is never asked for a grade: who
tampers with it changes a list and nothing else.
"""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cacheon.evidence.closing import Closing
from cacheon.evidence.store.directory import DirectoryStore
from cacheon.evidence.store.errors import StoreRefused
from cacheon.records.errors import RecordRefused
from cacheon.records.strict import Record

FILE = "index.sqlite"
_SCHEMA = (
    "CREATE TABLE record (digest TEXT PRIMARY KEY, kind TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE fact (digest TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, "
    "PRIMARY KEY (digest, name)) WITHOUT ROWID",
    "CREATE INDEX by_value ON fact (name, value)",
)
UNREADABLE = "unreadable"
_ENDS = ("", "-journal", "-wal", "-shm")
"""Of the names of the list and of the files that sqlite keeps beside it."""
_SUPER = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal that names another, which sqlite removes once it has read the journal. A list
is written alone, so that it never has one (source: the file format of sqlite, «The Rollback
Journal», and its `readSuperJournal`)."""


class Listed(Record):
    """One record as the list has it. `facts` are what its kind is looked for by."""

    kind: str
    digest: str
    facts: dict[str, str]


Describe = Callable[[bytes], tuple[str, Mapping[str, str]]]
"""The kind and the facts of a record's bytes. Raises RecordRefused for what it does not know."""


class Index(Closing):
    """The list beside one store. Close it, or use it in a `with`."""

    def __init__(self, store: DirectoryStore, describe: Describe) -> None:
        """Open the list and bring it up to date.

        A file that is not this list is made anew; where none can be written, the list is
        made in memory. Raises StoreRefused and StoreFailed as listing the store does."""
        self._store, self._describe = store, describe
        path = store.rooms.root / FILE
        try:
            try:
                self._database = self._opened(path)
            except sqlite3.OperationalError:
                raise
            except (sqlite3.DatabaseError, UnicodeDecodeError):
                # The latter where the error's own message quotes the file.
                for end in _ENDS:
                    path.with_name(FILE + end).unlink(missing_ok=True)
                self._database = self._opened(path)
        except (sqlite3.OperationalError, OSError):
            self._database = self._opened(None)

    def close(self) -> None:
        self._database.close()

    def ls(self, kind: str | None = None, **facts: str) -> list[Listed]:
        """The records of a kind (of all, where it is None) that have all these facts,
        sorted by kind and digest."""
        where = ["1"] if kind is None else ["kind = ?"]
        values = [] if kind is None else [kind]
        for name, value in facts.items():
            where.append("digest IN (SELECT digest FROM fact WHERE name = ? AND value = ?)")
            values += [name, value]
        found = self._database.execute(
            f"SELECT kind, digest FROM record WHERE {' AND '.join(where)} ORDER BY kind, digest",
            values,
        )
        return [
            Listed(kind=str(kind), digest=str(digest), facts=self._facts(digest))
            for kind, digest in found.fetchall()
        ]

    def find(self, prefix: str) -> list[str]:
        """The digests that begin so, for whoever types only some of it."""
        found = self._database.execute(
            "SELECT digest FROM record WHERE substr(digest, 1, ?) = ? ORDER BY digest",
            (len(prefix), prefix),
        )
        return [str(digest) for (digest,) in found]

    def refresh(self) -> None:
        """Read the records that came, drop those that went."""
        with _transaction(self._database):
            self._update(self._database)

    def rebuild(self) -> None:
        """Read every record again."""
        with _transaction(self._database):
            self._database.execute("DELETE FROM record")
            self._database.execute("DELETE FROM fact")
            self._update(self._database)

    def _facts(self, digest: str) -> dict[str, str]:
        found = self._database.execute(
            "SELECT name, value FROM fact WHERE digest = ? ORDER BY name", (digest,)
        )
        return {str(name): str(value) for name, value in found}

    def _opened(self, path: Path | None) -> sqlite3.Connection:
        """A list that is up to date; None: in memory. Raises sqlite3.DatabaseError for a
        file that is another's, OperationalError for one that cannot be used now."""
        if path:
            _check_files(path)
        database = sqlite3.connect(path or ":memory:", isolation_level=None)
        try:
            # What stands in the file is data: no function of its choice is called.
            database.execute("PRAGMA trusted_schema = OFF")
            # What a crash spoils is made anew.
            database.execute("PRAGMA synchronous = OFF")
            database.text_factory = _text
            with _transaction(database):
                _check(database)
                self._update(database)
        except BaseException:
            database.close()
            raise
        return database

    def _update(self, database: sqlite3.Connection) -> None:
        there = set(self._store.digests())
        known = {digest for (digest,) in database.execute("SELECT digest FROM record")}
        for gone in known - there:
            database.execute("DELETE FROM record WHERE digest = ?", (gone,))
            database.execute("DELETE FROM fact WHERE digest = ?", (gone,))
        for digest in sorted(there - known):
            try:
                kind, facts = self._describe(self._store.get(digest))
            except (RecordRefused, StoreRefused) as error:
                kind, facts = UNREADABLE, {"code": error.code}
            database.execute("INSERT INTO record VALUES (?, ?)", (digest, kind))
            database.executemany(
                "INSERT OR REPLACE INTO fact VALUES (?, ?, ?)",
                [(digest, name, value) for name, value in facts.items()],
            )


def _check(database: sqlite3.Connection) -> None:
    """See that this is the list, or make it where there is nothing yet."""
    schema = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master ORDER BY rowid")]
    if not schema:
        for statement in _SCHEMA:
            database.execute(statement)
    elif schema != list(_SCHEMA) or database.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
        raise sqlite3.DatabaseError("another list")


def _check_files(path: Path) -> None:
    """See that sqlite may open the list and what lies beside it: files under one name each,
    and no journal that has another file removed. Raises sqlite3.DatabaseError, OSError."""
    for end in _ENDS:
        beside = path.with_name(FILE + end)
        if os.path.lexists(beside) and not _is_plain(beside):
            raise sqlite3.DatabaseError("a link, or no file")
    journal = path.with_name(FILE + "-journal")
    if journal.exists():
        with journal.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_SUPER)))
            if file.read() == _SUPER:
                raise sqlite3.DatabaseError("a journal of several databases")


def _is_plain(path: Path) -> bool:
    info = path.lstat()
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
