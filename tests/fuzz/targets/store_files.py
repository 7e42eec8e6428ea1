"""The small files of a store: what a pointer names, and which layout this is."""

import os

from tests.fuzz.targets.target import Target, refused, room

from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.layout import FORMAT
from cacheon.records.digest import sha256
from cacheon.records.errors import CacheonError

_BLOB = b'{"schema":"sample/1"}'
_DIGEST = sha256(_BLOB)
_OTHER = sha256(b"nothing that is stored")


def check_pointer(data: bytes) -> bool:
    """1. A pointer that is read holds one digest and a line feed, nothing else. 2. It stays:
    linking it again changes nothing, and naming other bytes by it is refused."""
    path = room("pointer") / "store"
    with DirectoryStore.open(path, create=True, fsync=False) as store:
        store.put(_BLOB)
        file = path / "pointers" / "grade" / _OTHER
        file.unlink(missing_ok=True)
        store.link("grade", _OTHER, _DIGEST)
        file.unlink()
        file.write_bytes(data)
        try:
            named = store.pointer("grade", _OTHER)
        except CacheonError as error:
            refused(error)
            named = None
        if named is not None:
            assert data == f"{named}\n".encode()
        try:
            assert not store.link("grade", _OTHER, _DIGEST)
            assert named == _DIGEST
        except CacheonError as error:
            assert named != _DIGEST
            refused(error)
        assert file.read_bytes() == data
    return named is not None


def check_format(data: bytes) -> bool:
    """Only a store of this very layout opens, also for whoever would make one; and what the
    file said it says still."""
    path = room("format") / "store"
    with DirectoryStore.open(path, create=True, fsync=False):
        pass
    file = path / "format"
    os.replace(file, path.with_name("kept"))
    file.write_bytes(data)
    opened = []
    for create in (False, True):
        try:
            with DirectoryStore.open(path, create=create, fsync=False):
                opened.append(data)
        except CacheonError as error:
            refused(error)
    assert file.read_bytes() == data
    assert opened == ([FORMAT] * 2 if data == FORMAT else [])
    os.replace(path.with_name("kept"), file)
    return bool(opened)


def pointer_seeds() -> list[bytes]:
    return [f"{digest}\n".encode() for digest in (_DIGEST, _OTHER)]


def format_seeds() -> list[bytes]:
    return [FORMAT]


POINTER = Target("pointer", check_pointer, pointer_seeds, words=(_DIGEST.encode(),), most=256)
FORMAT_FILE = Target("format", check_format, format_seeds, words=(b"cacheon-store/2",), most=256)
