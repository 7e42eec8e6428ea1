"""The two files of a log: its entries, and the signed checkpoints over them."""

import functools
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.targets.target import Target, refused, room

from cacheon.evidence.checkpoint import Checkpoint
from cacheon.evidence.envelope import Pin
from cacheon.evidence.keys import Key
from cacheon.evidence.log import Log
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.errors import CacheonError

_ORIGIN = "example.org/log"
_KEY = Key(bytes(32))
_PINS = [Pin(key=_KEY.public, role="log")]
_COUNT = 5
_SIZES = (1, 3, _COUNT)


class _Honest(NamedTuple):
    """A log of five entries and three checkpoints, as its writer left it."""

    entries: bytes
    checkpoints: bytes
    signed: tuple[Checkpoint, ...]


@functools.cache
def _honest() -> _Honest:
    path = room("log-seed") / "log"
    with Log(path, origin=_ORIGIN, create=True, fsync=False) as log:
        for number in range(_COUNT):
            log.append("grade", sha256(b"%d" % number))
            if number + 1 in _SIZES:
                log.checkpoint(_KEY)
        signed = log.check(_PINS)
    return _Honest((path / "entries").read_bytes(), (path / "checkpoints").read_bytes(), signed)


def _written(name: str, entries: bytes, checkpoints: bytes) -> Path:
    path = room(name) / "log"
    path.mkdir(exist_ok=True)
    (path / "entries").write_bytes(entries)
    (path / "checkpoints").write_bytes(checkpoints)
    return path


def check_entries(data: bytes) -> bool:
    """1. Entries that are read are the whole lines of the file, byte for byte. 2. What is
    appended is there on reading again, behind all that was, at the index that was told. 3. The
    checkpoints fit exactly where the entries are those that were signed."""
    honest = _honest()
    path = _written("log", data, honest.checkpoints)
    whole = data[: data.rfind(b"\n") + 1]
    new = sha256(b"new")
    try:
        with Log(path, origin=_ORIGIN, fsync=False) as log:
            before = log.entries()
            assert b"".join(encode(entry) + b"\n" for entry in before) == whole
            index = log.append("grade", new)
        with Log(path, origin=_ORIGIN, fsync=False) as log:
            after = log.entries()
            assert after[: len(before)] == before
            assert (after[index].kind, after[index].digest) == ("grade", new)
    except CacheonError as error:
        return refused(error)
    fits = True
    try:
        with Log(path, origin=_ORIGIN, fsync=False) as log:
            assert log.check(_PINS) == honest.signed
    except CacheonError as error:
        fits = refused(error)
    assert fits == whole.startswith(honest.entries)
    return True


def check_checkpoints(data: bytes) -> bool:
    """1. Checkpoints that are read are ones that the key signed. 2. A log whose checkpoints are
    sound can be signed again, and then all of them are."""
    honest = _honest()
    path = _written("checkpoints", honest.entries, data)
    try:
        with Log(path, origin=_ORIGIN, fsync=False) as log:
            found = log.check(_PINS)
            assert all(each in honest.signed for each in found)
            assert len(found) == data.count(b"\n")
            last = log.checkpoint(_KEY)
            assert last.size == _COUNT
            assert log.check(_PINS, kept=honest.signed)[: len(found)] == found
    except CacheonError as error:
        return refused(error)
    return True


def _seeds(whole: bytes) -> list[bytes]:
    """All of it, a torn last line, the first line, nothing."""
    return [whole, whole[:-7], whole[: whole.index(b"\n") + 1], b""]


def entry_seeds() -> list[bytes]:
    return _seeds(_honest().entries)


def checkpoint_seeds() -> list[bytes]:
    return _seeds(_honest().checkpoints)


ENTRIES = Target(
    "log",
    check_entries,
    entry_seeds,
    words=(b'"cacheon/log-entry/1"', b'"kind":"', b'"digest":"', sha256(b"new").encode()),
)
CHECKPOINTS = Target(
    "checkpoints",
    check_checkpoints,
    checkpoint_seeds,
    words=(b'"payload":"', b'"payloadType":"', b'"signatures":[', b'"keyid":"', b'"sig":"'),
)
