"""The log: what it proves to whoever kept a checkpoint, and what a torn line is."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cacheon.evidence.checkpoint import (
    Checkpoint,
    Entry,
    check_extends,
    check_included,
    open_checkpoint,
    sign_checkpoint,
)
from cacheon.evidence.envelope import Pin, seal
from cacheon.evidence.keys import Key
from cacheon.evidence.log import Log
from cacheon.evidence.store import LIMITS, DirectoryStore, StoreFailed, StoreRefused
from cacheon.evidence.store import lines as files_of_lines
from cacheon.evidence.store.lines import Lines
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.errors import RecordRefused

ORIGIN = "example.org/log"
KEY, OTHER = Key(bytes(32)), Key(bytes([1] * 32))
PINS = [Pin(key=KEY.public, role="log")]
DIGESTS = [sha256(b"%d" % number) for number in range(20)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def log(root: Path) -> Iterator[Log]:
    with Log(root, origin=ORIGIN, create=True) as log:
        yield log


def reopened(root: Path) -> Log:
    return Log(root, origin=ORIGIN)


def code(call: Callable[[], object]) -> str:
    with pytest.raises((RecordRefused, StoreRefused)) as caught:
        call()
    return caught.value.code


def filled(log: Log, count: int) -> Checkpoint:
    for number in range(count):
        assert log.append("grade", DIGESTS[number]) == number
    return log.checkpoint(KEY)


def test_golden_bytes(log: Log, root: Path) -> None:
    """The stored form never changes: these bytes are in somebody's log."""
    filled(log, 1)
    digest = DIGESTS[0].encode()
    entry = b'{"digest":"' + digest + b'","kind":"grade","schema":"cacheon/log-entry/1"}'
    assert (root / "entries").read_bytes() == entry + b"\n"
    leaf = sha256(b"\x00" + entry).encode()
    checkpoint = (
        b'{"origin":"example.org/log","root":"' + leaf + b'","schema":"cacheon/checkpoint/1",'
        b'"size":1}'
    )
    sealed = seal(checkpoint, "application/vnd.cacheon.checkpoint+json", [KEY])
    assert (root / "checkpoints").read_bytes() == sealed + b"\n"


def test_an_entry_has_one_place(log: Log, root: Path) -> None:
    assert log.entries() == () and log.check(PINS) == ()
    assert [log.append("grade", DIGESTS[0]), log.append("requirement", DIGESTS[0])] == [0, 1]
    with reopened(root) as other:
        assert [other.append("grade", DIGESTS[0]), other.append("grade", DIGESTS[1])] == [0, 2]
    # What another process appended is seen.
    assert log.append("grade", DIGESTS[1]) == 2 and log.append("grade", DIGESTS[2]) == 3
    seen = [(entry.kind, entry.digest) for entry in log.entries()]
    assert seen[:2] == [("grade", DIGESTS[0]), ("requirement", DIGESTS[0])] and len(seen) == 4


@pytest.mark.parametrize(
    ("kind", "digest"),
    [("Grade", DIGESTS[0]), ("", DIGESTS[0]), ("grade", DIGESTS[0].upper())],
)
def test_what_is_no_entry_is_not_appended(log: Log, kind: str, digest: str) -> None:
    assert code(lambda: log.append(kind, digest)) == "not-a-record"
    assert log.entries() == ()


def test_a_checkpoint_is_made_once_for_one_state(log: Log, root: Path) -> None:
    assert log.checkpoint(KEY).size == 0
    first = filled(log, 3)
    assert log.checkpoint(KEY) == first and first.size == 3
    assert [made.size for made in log.check(PINS)] == [0, 3]
    # A new key goes on where the old one is still trusted.
    assert code(lambda: log.checkpoint(OTHER)) == "unsigned"
    log.append("grade", DIGESTS[9])
    assert log.checkpoint(OTHER, pins=PINS).size == 4
    both = [*PINS, Pin(key=OTHER.public, role="log")]
    assert [made.size for made in log.check(both)] == [0, 3, 4]
    assert code(lambda: log.check(PINS)) == "unsigned"
    assert code(lambda: log.check([Pin(key=KEY.public, role="observer")])) == "unsigned"


@settings(max_examples=40)
@given(st.integers(0, 20), st.integers(0, 20), st.data())
def test_proofs_hold_without_the_log(
    tmp_path_factory: pytest.TempPathFactory, one: int, two: int, data: st.DataObject
) -> None:
    first, second = sorted([one, two])
    root = tmp_path_factory.mktemp("log")
    with Log(root, origin=ORIGIN, create=True, fsync=False) as log:
        earlier = filled(log, first)
        later = filled(log, second)
        proof = log.consistency(earlier, later)
        check_extends(earlier, later, proof)
        bent = msgspec.structs.replace(proof, path=(*proof.path, DIGESTS[0]))
        assert code(lambda: check_extends(earlier, later, bent)) == "log-proof"
        if second > first:
            assert code(lambda: check_extends(later, earlier, proof)) == "log-order"
            assert code(lambda: log.consistency(later, earlier)) == "log-proof"
            assert code(lambda: check_extends(later, later, proof)) == "log-proof"
        if second:
            index = data.draw(st.integers(0, second - 1))
            entry = log.entries()[index]
            shown = log.inclusion(index, later)
            check_included(entry, shown, later)
            other = msgspec.structs.replace(entry, kind="requirement")
            assert code(lambda: check_included(other, shown, later)) == "log-proof"
            if first < second:
                assert code(lambda: check_included(entry, shown, earlier)) == "log-proof"
        assert code(lambda: log.inclusion(second, later)) == "log-proof"
    shutil.rmtree(root)


def test_a_proof_is_asked_of_entries_that_are_there(log: Log) -> None:
    later = filled(log, 3)
    more = msgspec.structs.replace(later, size=4)
    assert code(lambda: log.inclusion(0, more)) == "log-proof"
    assert code(lambda: log.inclusion(-1, later)) == "log-proof"
    assert code(lambda: log.consistency(later, more)) == "log-proof"


def test_a_checkpoint_is_of_one_log_and_one_role(log: Log, tmp_path: Path) -> None:
    checkpoint = filled(log, 2)
    data = sign_checkpoint(checkpoint, KEY)
    assert open_checkpoint(data, PINS, origin=ORIGIN) == checkpoint
    assert code(lambda: open_checkpoint(data, PINS, origin="example.org/fork")) == "log-origin"
    assert code(lambda: open_checkpoint(data, [], origin=ORIGIN)) == "unsigned"
    other = seal(encode(checkpoint), "application/vnd.cacheon.delivery+json", [KEY])
    assert code(lambda: open_checkpoint(other, PINS, origin=ORIGIN)) == "payload-type"
    foreign = msgspec.structs.replace(checkpoint, origin="example.org/fork")
    assert code(lambda: log.check(PINS, kept=[foreign])) == "log-origin"
    proof = log.consistency(checkpoint, checkpoint)
    assert code(lambda: check_extends(foreign, checkpoint, proof)) == "log-origin"
    with pytest.raises(RecordRefused):
        Log(tmp_path / "x", origin="no spaces", create=True).checkpoint(KEY)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def cut(root: Path) -> None:
    (root / "entries").write_bytes(b"".join(lines(root / "entries")[:-1]))


def deleted(root: Path) -> None:
    (root / "entries").write_bytes(b"".join(lines(root / "entries")[1:]))


def gone(root: Path) -> None:
    (root / "entries").unlink()


def swapped(root: Path) -> None:
    one, two, *rest = lines(root / "entries")
    (root / "entries").write_bytes(b"".join([two, one, *rest]))


def altered(root: Path) -> None:
    data = (root / "entries").read_bytes().replace(b"grade", b"award", 1)
    (root / "entries").write_bytes(data)


def mangled(root: Path) -> None:
    (root / "entries").write_bytes((root / "entries").read_bytes().replace(b"{", b"[", 1))


def spaced(root: Path) -> None:
    (root / "entries").write_bytes((root / "entries").read_bytes().replace(b":", b": ", 1))


def rewound(root: Path) -> None:
    """The older checkpoint again, after the newer one."""
    found = lines(root / "checkpoints")
    (root / "checkpoints").write_bytes(b"".join([*found, found[0]]))


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (cut, "log-shrunk"),
        (deleted, "log-shrunk"),
        (gone, "log-shrunk"),
        (swapped, "log-forked"),
        (altered, "log-forked"),
        (mangled, "not-a-record"),
        (spaced, "not-canonical"),
        (rewound, "log-order"),
    ],
)
def test_what_was_done_to_a_log_is_seen(
    log: Log, root: Path, tamper: Callable[[Path], None], said: str
) -> None:
    filled(log, 2)
    log.append("requirement", DIGESTS[7])
    log.checkpoint(KEY)
    tamper(root)
    with reopened(root) as again:
        assert code(lambda: again.check(PINS)) == said
        if tamper is not rewound:
            assert code(lambda: again.checkpoint(KEY)) == said
    assert code(lambda: log.check(PINS)) == said


def test_a_log_written_anew_is_seen_by_who_kept_a_checkpoint(log: Log, root: Path) -> None:
    kept = filled(log, 5)
    for count, said in ((6, None), (5, "log-forked"), (3, "log-shrunk"), (0, "log-shrunk")):
        for name in ("entries", "checkpoints"):
            (root / name).unlink(missing_ok=True)
        with reopened(root) as anew:
            for number in range(count):
                anew.append("grade" if said is None or number else "award", DIGESTS[number])
            later = anew.checkpoint(KEY)
            assert anew.check(PINS)
            if said is None:
                assert anew.check(PINS, kept=[kept]) == (later,)
            else:
                assert code(lambda anew=anew: anew.check(PINS, kept=[kept])) == said


def test_what_is_signed_while_a_log_is_read_is_not_gone(
    log: Log, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(log, 3)
    read = Lines.read

    def signed_after(lines: Lines) -> list[bytes]:
        found = read(lines)
        monkeypatch.setattr(Lines, "read", read)
        with reopened(root) as writer:
            writer.append("grade", DIGESTS[3])
            writer.checkpoint(KEY)
        return found

    monkeypatch.setattr(Lines, "read", signed_after)
    assert [made.size for made in log.check(PINS)] == [3]
    assert [made.size for made in log.check(PINS)] == [3, 4]


def test_evidence_that_was_deleted_is_named(log: Log, tmp_path: Path) -> None:
    with DirectoryStore.open(tmp_path / "store", create=True) as store:
        there = store.put(b"there")
        log.append("requirement", there)
        log.append("grade", DIGESTS[0])
        assert log.absent(store) == (
            Entry(schema="cacheon/log-entry/1", kind="grade", digest=DIGESTS[0]),
        )
        # A file of the name is not the record.
        place = tmp_path / "store" / "blobs" / there[:2] / there
        place.unlink()
        place.write_bytes(b"other")
        assert [entry.digest for entry in log.absent(store)] == [there, DIGESTS[0]]


@pytest.mark.parametrize("torn", [b"{", b'{"digest":"00', b"\0" * 700, b"x" * 4095])
def test_a_torn_last_line_is_no_corruption(log: Log, root: Path, torn: bytes) -> None:
    filled(log, 3)
    for name in ("entries", "checkpoints"):
        with (root / name).open("ab") as file:
            file.write(torn)
    with reopened(root) as again:
        assert [made.size for made in again.check(PINS)] == [3]
        assert again.append("grade", DIGESTS[1]) == 1
        assert again.append("grade", DIGESTS[3]) == 3
        assert again.checkpoint(KEY).size == 4
        assert [made.size for made in again.check(PINS)] == [3, 4]
    assert len(lines(root / "entries")) == 4 and len(lines(root / "checkpoints")) == 2


def test_a_log_that_is_one_torn_line_is_empty(root: Path) -> None:
    root.mkdir()
    (root / "entries").write_bytes(b'{"digest"')
    with reopened(root) as log:
        assert log.entries() == ()
        assert log.append("grade", DIGESTS[0]) == 0
    assert (root / "entries").read_bytes().startswith(b'{"digest":"')


def test_a_line_without_an_end_is_not_cut_away(log: Log, root: Path) -> None:
    (root / "entries").write_bytes(b"x" * 10_000)
    assert code(lambda: log.append("grade", DIGESTS[0])) == "corrupt"
    assert (root / "entries").stat().st_size == 10_000


def test_a_log_that_shrinks_under_its_reader(log: Log, root: Path) -> None:
    filled(log, 3)
    cut(root)
    assert code(log.entries) == "corrupt"
    gone(root)
    assert code(log.entries) == "missing"


HOSTILE: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to("checkpoints"),
    "FIFO": os.mkfifo,
    "directory": lambda path: path.mkdir(),
    "hard link": lambda path: (path.touch(), os.link(path, path.with_name("second"))),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_file_is_no_log(log: Log, root: Path, kind: str) -> None:
    HOSTILE[kind](root / "entries")
    said = "hard-link" if kind == "hard link" else "not-a-file"
    assert code(log.entries) == said
    assert code(lambda: log._entry_lines.append(b"line")) == said
    assert code(log._entry_lines.sync) == said


def test_a_log_has_limits(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(log, 2)
    used = log._entry_lines.end
    less = msgspec.structs.replace(LIMITS, log_bytes=used + 10)
    monkeypatch.setattr(files_of_lines, "LIMITS", less)
    assert code(lambda: log.append("grade", DIGESTS[5])) == "quota"
    monkeypatch.setattr(
        files_of_lines, "LIMITS", msgspec.structs.replace(LIMITS, log_bytes=used - 1)
    )
    assert code(log.entries) == "too-large"
    monkeypatch.undo()
    for line in (b"x" * LIMITS.line_bytes, b"two\nlines"):
        assert code(lambda line=line: log._entry_lines.append(line)) == "too-large"


def test_there_is_no_log_where_there_is_no_directory(tmp_path: Path) -> None:
    assert code(lambda: reopened(tmp_path / "none")) == "not-a-store"
    (tmp_path / "file").touch()
    assert code(lambda: Log(tmp_path / "file", origin=ORIGIN, create=True)) == "not-a-store"


@pytest.mark.parametrize("call", ["write", "fsync", "open"])
def test_a_failing_file_system_is_nobodys_fault(
    log: Log, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    filled(log, 1)

    def fails(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched, pytest.raises(StoreFailed) as caught:
        patched.setattr(os, call, fails)
        log.append("grade", DIGESTS[1])
    assert caught.value.code == "io"
    assert log.append("grade", DIGESTS[1]) == 1
    assert len(log.entries()) == 2


def test_what_is_there_already_is_synced_again(
    log: Log, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(log, 1)
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    log.append("grade", DIGESTS[0])
    assert synced == [str(root / "entries"), str(root)]
    log.append("grade", DIGESTS[1])
    assert synced[2:] == [str(root / "entries"), str(root)]
    log.checkpoint(KEY)
    log.checkpoint(KEY)
    assert synced[4:] == [str(root / "checkpoints"), str(root)] * 2
