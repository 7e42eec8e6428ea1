"""`require`: what must be shown, written on paper before anything runs."""

import secrets
from collections.abc import Sequence
from pathlib import Path

from cacheon.bundle import open_bundle
from cacheon.contract.arenas.reading import NAME
from cacheon.evidence.grade import Reason
from cacheon.evidence.keys import PREFIX, check_public
from cacheon.evidence.launch import Launch
from cacheon.evidence.requirement import Observer, Requirement
from cacheon.evidence.requiring import foreseen, require
from cacheon.records.canonical import encode
from cacheon.records.digest import is_digest, sha256
from cacheon.records.errors import InputError
from cacheon.records.strict import Record
from cacheon.scan.source import check_source
from cacheon.workflows.arena import find_arena
from cacheon.workflows.reading import read_record


class Issued(Record):
    """A requirement, its canonical bytes and their digest. `foreseen`: what can only fail.
    `notes`: what else to know before anybody invests time in it."""

    requirement: Requirement
    data: bytes
    digest: str
    foreseen: tuple[Reason, ...]
    notes: tuple[str, ...]


def issue(
    target: str,
    bundle: Path,
    arena: str,
    launch: Path,
    observers: Sequence[str] = (),
    *,
    nonce: str = "",
) -> Issued:
    """Write a requirement for `bundle`, read as data, under a fresh nonce unless one is
    given. `arena`: a shipped one's name, or a .toml file; `launch`: the file that
    `cacheon launch` wrote; `observers`: NAME=KEY, pinned beside the arena's own. Nothing is
    imported and no device is looked at. Raises InputError."""
    opened = open_bundle(bundle)
    check_source(opened)
    published = find_arena(arena)
    requirement = require(
        opened,
        published,
        read_record(launch, Launch),
        target,
        nonce or secrets.token_hex(32),
        tuple(pinned(text) for text in observers),
    )
    data = encode(requirement)
    notes = []
    if published.arena.device == "cpu":
        notes.append(
            "a rehearsal on a CPU is no evidence: the best that this can end in is NO_DECISION"
        )
    return Issued(
        requirement=requirement,
        data=data,
        digest=sha256(data),
        foreseen=foreseen(requirement),
        notes=tuple(notes),
    )


def pinned(text: str) -> Observer:
    """An observer from NAME=KEY. Raises InputError, also for a key under which anybody can
    sign, or nobody: nothing could be taken in for it."""
    name, equals, key = text.partition("=")
    if not equals or not NAME.match(name) or not is_digest(key):
        raise InputError(
            place="--observer",
            expected="NAME=KEY: a-z, digits, ., _ and -; 64 lower-case hexadecimal characters",
            got=repr(text),
        )
    check_public(PREFIX + key)
    return Observer(key=key, name=name)
