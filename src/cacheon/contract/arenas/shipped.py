"""The arenas that come with the package, one file each."""

from pathlib import Path

from cacheon.contract.arenas.model import Published
from cacheon.contract.arenas.reading import read_arena
from cacheon.records.errors import InputError

_DATA = Path(__file__).parent / "data"
_SUFFIX = ".toml"


def arena_names() -> tuple[str, ...]:
    """Their names, sorted."""
    return tuple(sorted(path.stem for path in _DATA.glob(f"*{_SUFFIX}")))


def shipped_arena(name: str) -> Published:
    """The arena of this name. Raises InputError where none is shipped."""
    if name not in arena_names():
        known = ", ".join(arena_names())
        raise InputError(place="arena", expected=f"one of {known}", got=repr(name))
    return read_arena((_DATA / f"{name}{_SUFFIX}").read_bytes(), f"{name}{_SUFFIX}")
