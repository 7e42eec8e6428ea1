"""The directory store: what it refuses to open, and what a publisher leaves behind."""

import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cacheon.evidence.store import (
    DirectoryStore,
    Limits,
    PointerTaken,
    StoreFailed,
    StoreRefused,
)
from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError, InputError

DATA = b'{"schema":"sample/1"}'
DIGEST = sha256(DATA)
OTHER = b'{"schema":"sample/2"}'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "above" / "store"


@pytest.fixture
def store(root: Path) -> Any:
    with DirectoryStore.open(root, create=True) as store:
        yield store


def code(call: Callable[[], object]) -> str:
    with pytest.raises(StoreRefused) as caught:
        call()
    assert isinstance(caught.value, InputError) and str(caught.value).isprintable()
    return caught.value.code


def place(root: Path, digest: str = DIGEST) -> Path:
    path = root / "blobs" / digest[:2] / digest
    path.parent.mkdir(exist_ok=True)
    return path


def test_the_layout(root: Path, store: DirectoryStore) -> None:
    assert store.put(DATA) == DIGEST
    assert store.link("nonces", DIGEST, DIGEST)
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in files.items()} == {
        "format": b"cacheon-store/1\n",
        f"blobs/{DIGEST[:2]}/{DIGEST}": DATA,
        f"pointers/nonces/{DIGEST}": f"{DIGEST}\n".encode(),
    }
    for path in files.values():
        assert stat.S_IMODE(path.stat().st_mode) & 0o333 == 0
        assert path.stat().st_nlink == 1
    assert not list((root / "tmp").iterdir())


def test_everything_new_is_synced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each directory after the name that was made in it, and the file before its name."""
    synced: list[str] = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd))
    )
    with DirectoryStore.open(root, create=True) as store:
        assert {str(root.parent), str(root.parent.parent), str(root)} <= set(synced)
        del synced[:]
        store.put(DATA)
    room = place(root).parent
    assert [Path(path).relative_to(root).parts[0] for path in synced] == ["blobs", "tmp", "blobs"]
    assert synced[0] == str(room.parent) and synced[-1] == str(room)
    del synced[:]
    with DirectoryStore.open(root, fsync=False) as store:
        store.put(OTHER)
        store.link("grades", DIGEST, DIGEST)
        store.put(DATA)
    with DirectoryStore.open(root.parent / "quick", create=True, fsync=False):
        assert not synced


def test_publishing_again_syncs_what_another_may_not_have(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(DATA)
    os.utime(place(root), (1, 1))
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    store.put(DATA)
    assert synced == [str(place(root)), str(place(root).parent)]
    assert place(root).stat().st_mtime > 1


@pytest.mark.parametrize(
    "digest",
    ["", "../../etc/passwd", DIGEST.upper(), DIGEST[:-1], DIGEST + "\n", "sha256:" + DIGEST],
)
def test_paths_come_from_checked_digests_only(store: DirectoryStore, digest: str) -> None:
    assert code(lambda: store.get(digest)) == "not-a-digest"
    assert code(lambda: store.has(digest)) == "not-a-digest"
    assert code(lambda: store.link("grades", DIGEST, digest)) == "not-a-digest"
    for name in (digest, f"{DIGEST}-{digest}", "-".join([DIGEST] * 4)):
        assert code(lambda name=name: store.pointer("grades", name)) == "not-a-name"
    for kind in (digest, "..", "Grades", "grades\n", "a" * 33):
        assert code(lambda kind=kind: store.pointer(kind, DIGEST)) == "not-a-name"
        assert code(lambda kind=kind: list(store.names(kind))) == "not-a-name"


def a_link(path: Path) -> None:
    path.with_name("elsewhere").write_bytes(DATA)
    path.symlink_to("elsewhere")


def a_hard_link(path: Path) -> None:
    path.write_bytes(DATA)
    os.link(path, path.with_name("second"))


def a_socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


HOSTILE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "link": (a_link, "not-a-file", "not-a-file"),
    "loose link": (lambda path: path.symlink_to("nowhere"), "not-a-file", "not-a-file"),
    "hard link": (a_hard_link, "hard-link", "hard-link"),
    "FIFO": (os.mkfifo, "not-a-file", "not-a-file"),
    "socket": (a_socket, "not-a-file", "not-a-file"),
    "directory": (lambda path: path.mkdir(), "not-a-file", "not-a-file"),
    "corrupt": (lambda path: path.write_bytes(OTHER), "corrupt", "corrupt"),
    "truncated": (lambda path: path.write_bytes(DATA[:-1]), "corrupt", "corrupt"),
    "empty": (lambda path: path.write_bytes(b""), "corrupt", "corrupt"),
    "longer": (lambda path: path.write_bytes(DATA + b" "), "corrupt", "corrupt"),
    "oversize": (lambda path: path.write_bytes(b" " * 4096), "too-large", "corrupt"),
    "endless": (lambda path: os.truncate(place_at(path), 1 << 40), "too-large", "corrupt"),
}


def place_at(path: Path) -> Path:
    path.touch()
    return path


def what_lies(path: Path) -> tuple[int, ...]:
    """All but when it was last read."""
    found = os.lstat(path)
    return (found.st_ino, found.st_mode, found.st_nlink, found.st_size, found.st_mtime_ns)


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_sound_blob_is_neither_opened_nor_taken_for_one(root: Path, kind: str) -> None:
    """A corrupt file placed in advance is an alarm, not something already published."""
    make, opened, published = HOSTILE[kind]
    with DirectoryStore.open(root, create=True, limits=Limits(record_bytes=1000)) as store:
        make(place(root))
        before = what_lies(place(root))
        assert code(lambda: store.get(DIGEST)) == opened
        assert code(lambda: store.put(DATA)) == published
        assert store.has(DIGEST)
        assert what_lies(place(root)) == before or kind == "hard link"


@pytest.mark.parametrize("what", ["blobs", "blobs/ab", "pointers", "pointers/grades"])
@pytest.mark.parametrize("linked", [True, False])
def test_a_room_that_is_a_link_or_a_file_is_not_entered(
    root: Path, tmp_path: Path, what: str, linked: bool
) -> None:
    data = next(b"%d" % i for i in range(10_000) if sha256(b"%d" % i).startswith("ab"))
    with DirectoryStore.open(root, create=True) as store:
        store.link("grades", DIGEST, store.put(data))
    (root / what).rename(tmp_path / "moved")
    if linked:
        (root / what).symlink_to(tmp_path / "moved")
    else:
        (root / what).touch()
    with DirectoryStore.open(root) as store:
        if what.startswith("blobs"):
            assert code(lambda: store.get(sha256(data))) == "not-a-directory"
            assert code(lambda: store.put(data)) == "not-a-directory"
        else:
            assert code(lambda: store.pointer("grades", DIGEST)) == "not-a-directory"
            assert code(lambda: store.link("grades", DIGEST, sha256(data))) == "not-a-directory"


def test_limits_are_kept_to_the_byte(root: Path) -> None:
    limits = Limits(record_bytes=len(DATA), total_bytes=len(DATA) + 1)
    with DirectoryStore.open(root, create=True, limits=limits) as store:
        store.put(DATA)
        assert code(lambda: store.put(DATA + b" ")) == "too-large"
        assert code(lambda: store.put(b"12")) == "quota"
        assert store.put(b"1") and store.put(DATA)
        assert code(lambda: store.put(b"2")) == "quota"
        assert store.get(DIGEST, len(DATA)) == DATA
        assert code(lambda: store.get(DIGEST, len(DATA) - 1)) == "too-large"
    with DirectoryStore.open(root, limits=limits) as store:
        assert code(lambda: store.put(b"2")) == "quota"


def test_a_nonce_is_spent_once(store: DirectoryStore) -> None:
    first, second = store.put(DATA), store.put(OTHER)
    nonce = f"{sha256(b'nonce')}-{sha256(b'key')}"
    assert store.pointer("nonces", nonce) is None
    assert code(lambda: store.link("nonces", nonce, sha256(b"not there"))) == "dangling"
    assert store.link("nonces", nonce, first) is True
    assert store.link("nonces", nonce, first) is False
    with pytest.raises(PointerTaken) as caught:
        store.link("nonces", nonce, second)
    assert (caught.value.there, caught.value.code) == (first, "taken")
    assert store.pointer("nonces", nonce) == first
    assert list(store.kinds()) == ["nonces"] and list(store.names("nonces")) == [nonce]


@pytest.mark.parametrize(
    "said", [b"", DIGEST.encode(), b"x" * 64 + b"\n", b"\xff" * 65, DIGEST.upper().encode() + b"\n"]
)
def test_a_damaged_pointer_points_nowhere(store: DirectoryStore, root: Path, said: bytes) -> None:
    store.link("grades", DIGEST, store.put(DATA))
    path = root / "pointers" / "grades" / DIGEST
    path.unlink()
    path.write_bytes(said)
    assert code(lambda: store.pointer("grades", DIGEST)) == "pointer"
    assert code(lambda: store.link("grades", DIGEST, DIGEST)) == "pointer"
    path.write_bytes(b"\n" * 66)
    assert code(lambda: store.pointer("grades", DIGEST)) == "too-large"


def test_what_is_no_store_is_not_made_one(tmp_path: Path) -> None:
    def opened(path: Path, create: bool = False) -> str:
        return code(lambda: DirectoryStore.open(path, create=create))

    assert opened(tmp_path) == opened(tmp_path / "none") == "not-a-store"
    (tmp_path / "file").touch()
    assert opened(tmp_path / "file", create=True) == "not-a-store"
    assert opened(tmp_path, create=True) == "not-a-store"
    assert {path.name for path in tmp_path.iterdir()} == {"file"}
    for said in (b"", b"cacheon-store/2\n"):
        (tmp_path / "format").write_bytes(said)
        assert opened(tmp_path, create=True) == "not-a-store"
    (tmp_path / "format").write_bytes(b" " * 100)
    assert opened(tmp_path) == "too-large"


def test_a_store_out_of_version_control_has_no_empty_directories(
    store: DirectoryStore, root: Path
) -> None:
    store.put(DATA)
    (root / "tmp").rmdir()
    (root / "pointers").rmdir()
    os.link(place(root), root.parent / "second")
    with DirectoryStore.open(root) as again:
        assert code(lambda: again.get(DIGEST)) == "hard-link"
        (root.parent / "second").unlink()
        assert again.get(DIGEST) == DATA
        assert list(again.kinds()) == [] and again.pointer("grades", DIGEST) is None
        assert again.link("grades", DIGEST, again.put(OTHER))


def test_a_publisher_between_linking_and_unlinking_hides_nothing(
    store: DirectoryStore, root: Path
) -> None:
    store.put(DATA)
    os.link(place(root), root / "tmp" / "spare")
    assert store.get(DIGEST) == DATA and store.put(DATA) == DIGEST
    os.link(place(root), root / "second")
    assert code(lambda: store.get(DIGEST)) == "hard-link"


def test_names_that_do_not_belong_are_not_listed(store: DirectoryStore, root: Path) -> None:
    store.put(DATA)
    (root / "blobs" / "xy").mkdir()
    (root / "blobs" / DIGEST[:2] / "README").touch()
    (root / "blobs" / DIGEST[:2] / sha256(b"elsewhere")).touch()
    (root / "pointers" / "Kind").mkdir()
    (root / "pointers" / "grades").mkdir()
    (root / "pointers" / "grades" / "latest").touch()
    assert list(store.digests()) == [DIGEST]
    assert list(store.kinds()) == ["grades"] and list(store.names("grades")) == []


def test_a_writer_that_was_overtaken_compares(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link
    there = [DATA, OTHER]

    def overtaken(*args: Any, **kwargs: Any) -> None:
        place(root).write_bytes(there[0])
        real(*args, **kwargs)

    monkeypatch.setattr(os, "link", overtaken)
    assert store.put(DATA) == DIGEST
    place(root).unlink()
    del there[0]
    assert code(lambda: store.put(DATA)) == "corrupt"
    assert not list((root / "tmp").iterdir())


@pytest.mark.parametrize("call", ["open", "write", "fsync", "link", "unlink", "mkdir", "stat"])
def test_a_failing_file_system_is_nobodys_fault(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        with pytest.raises(StoreFailed) as caught:
            store.put(DATA) if call != "stat" else store.has(store.put(DATA))
    assert isinstance(caught.value, InfrastructureError) and caught.value.code == "full"
    assert str(root) in str(caught.value)
    if call not in ("unlink", "stat"):
        assert not store.has(DIGEST) or call == "fsync"
    assert store.put(DATA) == DIGEST and store.get(DIGEST) == DATA


@pytest.mark.parametrize("call", ["open", "read", "fstat"])
def test_an_error_of_the_system_while_reading(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    store.put(DATA)

    def fails(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched, pytest.raises(StoreFailed) as caught:
        patched.setattr(os, call, fails)
        store.get(DIGEST)
    assert caught.value.code == "io"


def test_short_writes_and_reads_are_completed(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, read = os.write, os.read
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    monkeypatch.setattr(os, "read", lambda fd, size: read(fd, min(size, 4)))
    assert store.get(store.put(DATA)) == DATA


def a_loop(path: Path) -> Path:
    path.symlink_to(path.name)
    return path


def a_broken_link(path: Path) -> Path:
    path.symlink_to("nowhere")
    return path


def a_file(path: Path) -> Path:
    path.touch()
    return path


def below_a_file(path: Path) -> Path:
    path.touch()
    return path / "store"


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (a_loop, "a link that leads nowhere"),
        (a_broken_link, "none"),
        (a_file, "a file"),
        (below_a_file, "a file"),
        (lambda path: path.with_name("x" * 300), "a name that is too long"),
    ],
)
@pytest.mark.parametrize("create", [False, True])
def test_a_path_where_no_store_can_be_is_refused_in_words(
    tmp_path: Path, make: Callable[[Path], Path], got: str, create: bool
) -> None:
    path = make(tmp_path / "here")
    with pytest.raises(StoreRefused) as caught:
        DirectoryStore.open(path, create=create)
    assert caught.value.code == "not-a-store"
    assert str(caught.value) == f"{path}: not-a-store: expected a directory, got {got}"


@pytest.mark.parametrize("create", [False, True])
def test_a_root_that_the_system_does_not_open_decides_nothing(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch, create: bool
) -> None:
    def shut(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "shut")

    monkeypatch.setattr(os, "open", shut)
    with pytest.raises(StoreFailed, match="Permission denied"):
        DirectoryStore.open(root, create=create, fsync=False)


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.put(OTHER),
        lambda store: store.get(DIGEST),
        lambda store: store.has(DIGEST),
        lambda store: list(store.digests()),
        lambda store: store.link("nonces", DIGEST, DIGEST),
        lambda store: store.pointer("nonces", DIGEST),
        lambda store: list(store.names("nonces")),
        lambda store: list(store.kinds()),
    ],
)
@pytest.mark.parametrize("used", [False, True])
def test_a_closed_store_says_so(
    root: Path, use: Callable[[DirectoryStore], object], used: bool
) -> None:
    store = DirectoryStore.open(root, create=True)
    if used:
        store.put(DATA)
    store.close()
    store.close()
    with pytest.raises(ValueError, match=f"{root}: it was closed"):
        use(store)


def test_descriptors_are_closed(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    store = DirectoryStore.open(root, create=True)
    store.put(DATA)
    store.close()
    assert len(os.listdir("/proc/self/fd")) == before
    DirectoryStore.open(root).put(DATA)  # and without closing
    code(lambda: DirectoryStore.open(root.parent))
    assert len(os.listdir("/proc/self/fd")) == before
