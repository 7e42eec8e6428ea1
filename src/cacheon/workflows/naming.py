"""From what a person types to the digest of a record in a store."""

import re
from pathlib import Path

from cacheon.contract.arenas.reading import NAME
from cacheon.evidence.kinds import describe
from cacheon.evidence.pointers import REQUIREMENTS, named
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.store import LIMITS, DirectoryStore
from cacheon.evidence.store.index import Index
from cacheon.records.canonical import decode
from cacheon.records.digest import is_digest
from cacheon.records.errors import InputError
from cacheon.workflows.arena import find_arena
from cacheon.workflows.reading import read_bytes

_PREFIX = re.compile(r"\A[0-9a-f]{4,63}\Z")
_NUMBER = re.compile(r"\A[0-9]{1,9}\Z")


def named_digest(store: DirectoryStore, text: str) -> str:
    """A digest as it stands, whether it is stored or not; a prefix of 4 characters or more as
    the one stored digest that begins so. Raises InputError."""
    if is_digest(text):
        return text
    root = str(store.rooms.root)
    if not _PREFIX.match(text):
        raise InputError(
            file=root,
            expected="a digest, or its first 4 or more characters, in lower-case hex",
            got=ascii(text)[:80],
        )
    with Index(store, describe) as index:
        found = index.find(text)
    if len(found) != 1:
        raise InputError(
            file=root, expected=f"one record that begins with {text}", got=f"{len(found)}"
        )
    return found[0]


def requirement_named(store: DirectoryStore, text: str) -> str:
    """The digest of a requirement: `text` itself where it is one, or the name of a file,
    whose bytes are then published in the store. Raises InputError."""
    if is_digest(text):
        return text
    data = read_bytes(Path(text), LIMITS.record_bytes)
    decode(data, Requirement, limit=LIMITS.record_bytes, source=text)
    digest = store.put(data)
    store.link(REQUIREMENTS, named(digest), digest)
    return digest


def arena_version(text: str) -> tuple[str, int]:
    """The oldest version of an arena that counts: from NAME=VERSION, or as a shipped arena, by
    name, or one in a .toml file has it. Raises InputError."""
    name, equals, version = text.partition("=")
    if not equals:
        arena = find_arena(text).arena
        return arena.name, arena.minimum_version
    if not NAME.match(name) or not _NUMBER.match(version):
        raise InputError(
            place="--minimum", expected="NAME=VERSION of an arena", got=ascii(text)[:80]
        )
    return name, int(version)
