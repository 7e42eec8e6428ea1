"""A private copy of exactly the digested bytes; only this copy is ever imported."""

import os
from pathlib import Path

from cacheon.bundle.model import Bundle
from cacheon.bundle.tree import read_file
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError


def take_snapshot(bundle: Bundle, directory: Path) -> Path:
    """Copy the bundle's files below `directory` (which must not exist yet); its path.

    Every file is hashed again as it is copied: one that was swapped since the bundle was
    read is refused. Raises InputError."""
    root = Path(bundle.path)
    directory.mkdir(parents=True, mode=0o700)
    for entry in bundle.files:
        data = read_file(root, entry.path)
        if sha256(data) != entry.digest:
            raise InputError(
                file=str(root), place=entry.path, expected="the bytes just digested", got="others"
            )
        target = directory / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o555 if entry.executable else 0o444
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    return directory.resolve()
