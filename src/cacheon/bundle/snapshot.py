"""A private copy of exactly the digested bytes; only this copy is ever imported."""

import os
from pathlib import Path

from cacheon.bundle.model import Bundle
from cacheon.bundle.tree import read_file
from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError, InputError


def take_snapshot(bundle: Bundle, directory: Path) -> Path:
    """Copy the bundle's files below `directory` (which must not exist yet); its path.

    Every file is hashed again as it is copied. Raises InputError for one that was swapped
    since the bundle was read, InfrastructureError where the copy cannot be written; what
    was copied until then stays, in a directory that nobody else may enter."""
    try:
        directory.mkdir(parents=True, mode=0o700)
        for entry in bundle.files:
            data = digested(bundle, entry.path, entry.digest)
            copy = directory / entry.path
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(descriptor, 0o555 if entry.executable else 0o444)
        return directory.resolve()
    except OSError as error:
        raise InfrastructureError(f"no snapshot in {directory}: {error.strerror}") from error


def digested(bundle: Bundle, name: str, digest: str) -> bytes:
    """The bytes of a file of the bundle, which must still have this digest. Raises
    InputError."""
    data = read_file(Path(bundle.path), name)
    if sha256(data) != digest:
        raise InputError(
            file=bundle.path, place=name, expected="the bytes just digested", got="others"
        )
    return data
