"""Every directory of the suite, and how it is written."""

from pathlib import Path

from tests.conformance.making import (
    auditing,
    bound,
    decisions,
    files,
    gate,
    named,
    signing,
    tampering,
)
from tests.conformance.making.entry import Entry

ROOT = Path(__file__).parents[1]
_SUBJECTS = (gate, bound, signing, files, named, decisions, tampering, auditing)


def entries() -> list[Entry]:
    """All of them. Raises ValueError for a name that is there twice."""
    made = [entry for subject in _SUBJECTS for entry in subject.entries()]
    names = [entry.name for entry in made]
    if len(set(names)) != len(names):
        raise ValueError(f"twice: {sorted({name for name in names if names.count(name) > 1})}")
    return made


def contents(entry: Entry) -> dict[str, bytes]:
    """The files of a directory of the suite, by path."""
    files = {f"given/{name}": data for name, data in entry.files.items()}
    files["command"] = "".join(f"{line}\n" for line in entry.command).encode()
    if entry.make:
        files["make"] = "".join(f"{line}\n" for line in entry.make).encode()
    return files


def write(entry: Entry, root: Path) -> None:
    for name, data in contents(entry).items():
        path = root / entry.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
