"""`init`: a starter bundle that works as it is."""

import re
from pathlib import Path

from cacheon.bundle import Bundle, open_bundle
from cacheon.bundle.manifest import MANIFEST
from cacheon.bundle.tree import read_file
from cacheon.contract.slots import slot as slot_of
from cacheon.records.errors import InputError
from cacheon.workflows.examples import good_example

_BUNDLE_ID = re.compile(r"^bundle_id\s*=.*$", re.MULTILINE)


def init(slot: str, directory: Path, flavour: str = "torch") -> Bundle:
    """Write the slot's shipped example into `directory`, under an id of its own.

    Nothing is ever overwritten: the directory must be missing or empty. Raises InputError
    where it is not, and where the slot is unknown or ships no such example."""
    name = slot_of(slot).name
    example = good_example(name, flavour)
    if example is None:
        raise InputError(
            place=f"slot {name}", expected=f"a slot with a {flavour} example", got="one without"
        )
    _refuse_to_overwrite(directory)
    source = open_bundle(example)
    try:
        for entry in source.files:
            data = read_file(example, entry.path)
            if entry.path == MANIFEST:
                data = _renamed(data, directory.resolve().name)
            target = directory / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(data)
    except OSError as error:
        raise InputError(
            file=str(directory),
            expected="a directory that can be written",
            got=error.strerror or "an error",
        ) from error
    return open_bundle(directory)


def _refuse_to_overwrite(directory: Path) -> None:
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        got = "a link" if directory.is_symlink() else "a file"
        raise InputError(file=str(directory), expected="a new directory", got=got)
    try:
        if directory.is_dir() and any(directory.iterdir()):
            raise InputError(
                file=str(directory), expected="a new or empty directory", got="one with files"
            )
    except OSError as error:
        raise InputError(
            file=str(directory), expected="a new directory", got=error.strerror or "an error"
        ) from error


def _renamed(manifest: bytes, name: str) -> bytes:
    identity = re.sub(r"[^0-9A-Za-z._-]+", "-", name).strip("-")[:128] or "starter"
    return _BUNDLE_ID.sub(f'bundle_id = "{identity}"', manifest.decode(), count=1).encode()
