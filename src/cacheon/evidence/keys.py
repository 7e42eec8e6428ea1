"""Ed25519 keys: a secret in a file of its owner, a public text, signatures.

A public key is written `ed25519:` and 64 lower-case hexadecimal characters; its id is the
SHA-256 of that text. Refusals are RecordRefused, with these frozen codes:

| code | meaning |
| --- | --- |
| `public-key` | not a public key's text, or a point not canonical, of small or of mixed order |
| `key-file` | the secret's file is missing, not a regular file, or not one key |
| `key-exposed` | the secret's file may be read by others than its owner |
| `key-exists` | a new key would replace a file |

PyNaCl is loaded with the first key, not with this module: most of the paper wing signs
nothing.
"""

import os
import re
import stat
from pathlib import Path
from typing import Self

from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError, RecordRefused

PREFIX = "ed25519:"
SECRET = "ed25519-secret:"
_PUBLIC = re.compile(r"\Aed25519:[0-9a-f]{64}\Z")
_SECRET = re.compile(rb"\Aed25519-secret:([0-9a-f]{64})\n\Z")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
SIGNATURE = 64
"""Bytes of a signature."""


class Key:
    """A secret key in memory. It shows its public half only."""

    def __init__(self, seed: bytes) -> None:
        from nacl.signing import SigningKey

        self._signer = SigningKey(seed)
        self.public = PREFIX + bytes(self._signer.verify_key).hex()

    @property
    def id(self) -> str:
        return key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        """The signature of these very bytes, 64 bytes long and always the same."""
        return self._signer.sign(message).signature

    def __repr__(self) -> str:
        return f"Key({self.public})"

    @classmethod
    def load(cls, path: Path) -> Self:
        """The key of a file that `new_key` wrote. Refused with `key-file`, `key-exposed`."""
        try:
            descriptor = os.open(path, _READ)
            try:
                mode = os.fstat(descriptor).st_mode
                said = os.read(descriptor, len(SECRET) + 66) if stat.S_ISREG(mode) else b""
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _refused(path, "key-file", "a key file", os.strerror(error.errno or 0)) from error
        if not (match := _SECRET.match(said)):
            # What it holds may be a secret all the same, and is not repeated.
            raise _refused(path, "key-file", f"`{SECRET}` and 64 hex digits", "something else")
        if mode & 0o077:
            raise _refused(path, "key-exposed", "mode 0600", f"{stat.S_IMODE(mode):04o}")
        return cls(bytes.fromhex(match[1].decode()))


def new_key(path: Path) -> Key:
    """A new key, its secret in a new file that only the owner may read.

    Refused with `key-exists`. Raises InfrastructureError where it cannot be written; then
    no file is left."""
    seed = os.urandom(32)
    try:
        descriptor = os.open(path, _NEW, 0o600)
    except FileExistsError as error:
        raise _refused(path, "key-exists", "a new file", "one that exists") from error
    except OSError as error:
        raise _unwritten(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(f"{SECRET}{seed.hex()}\n".encode())
            file.flush()
            os.fsync(descriptor)
        above = os.open(path.absolute().parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(above)
        finally:
            os.close(above)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _unwritten(path, error) from error
    return Key(seed)


def key_id(public: str) -> str:
    """The id of a public key. Refused with `public-key`."""
    check_public(public)
    return sha256(public.encode())


def check_public(public: str) -> bytes:
    """The 32 bytes of a public key that may be trusted to mean one signer.

    Under a key of small order anybody's signature, or one for every message, can be made;
    a key that is not canonical has a second text, hence a second id. Refused with
    `public-key`."""
    from nacl.bindings import crypto_core_ed25519_is_valid_point

    if not _PUBLIC.match(public):
        got = ascii(public)[:100]
        raise _refused(None, "public-key", f"`{PREFIX}` and 64 lower-case hex digits", got)
    point = bytes.fromhex(public.removeprefix(PREFIX))
    # Canonical, on the curve, in the main subgroup, and not of small order.
    if not crypto_core_ed25519_is_valid_point(point):
        raise _refused(None, "public-key", "a point of the curve's main subgroup", public)
    return point


def verify(public: str, message: bytes, signature: bytes) -> bool:
    """Whether `public` signed these very bytes. Refused with `public-key`."""
    from nacl.exceptions import BadSignatureError
    from nacl.signing import VerifyKey

    point = check_public(public)
    if len(signature) != SIGNATURE:
        return False
    try:
        VerifyKey(point).verify(message, signature)
    except BadSignatureError:
        return False
    return True


def _refused(path: Path | None, code: str, expected: str, got: str) -> RecordRefused:
    return RecordRefused(code, file=str(path or ""), expected=expected, got=got)


def _unwritten(path: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(f"{path}: no key written: {os.strerror(error.errno or 0)}")
