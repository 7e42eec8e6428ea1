"""`keys`: a secret in a file of its owner, and the public half that a requirement pins."""

from pathlib import Path

from cacheon.evidence.keys import PREFIX, Key, new_key
from cacheon.records.strict import Record


class PublicKey(Record):
    """`key`: 64 hexadecimal characters, as a requirement pins them; `id`: what a signature
    names the key by."""

    key: str
    id: str


def make_key(file: Path) -> PublicKey:
    """Write a new secret key. Raises InputError where the file exists, InfrastructureError
    where it cannot be written."""
    return _public(new_key(file))


def public_key(file: Path) -> PublicKey:
    """The public half of a key file. Raises InputError."""
    return _public(Key.load(file))


def _public(key: Key) -> PublicKey:
    return PublicKey(key=key.public.removeprefix(PREFIX), id=key.id)
