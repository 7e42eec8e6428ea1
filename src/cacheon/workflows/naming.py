"""From what a person types to the digest of a record in a store."""

import re

from cacheon.evidence.kinds import describe
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.index import Index
from cacheon.records.digest import is_digest
from cacheon.records.errors import InputError

_PREFIX = re.compile(r"\A[0-9a-f]{4,63}\Z")


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
