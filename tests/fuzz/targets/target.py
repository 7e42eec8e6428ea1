"""What is fuzzed: one parser, the bytes that it is known to take, and what must hold."""

import atexit
import functools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cacheon.records.errors import CacheonError


class Target(NamedTuple):
    """`check` parses bytes: True where they are accepted, False where they are refused as they
    should be. Whatever it raises is a finding. `seeds` are accepted, all of them; `words` are
    what the language is made of; `most` is the longest input, in bytes; `seconds` what one of
    them may take at most."""

    name: str
    check: Callable[[bytes], bool]
    seeds: Callable[[], Sequence[bytes]]
    words: tuple[bytes, ...] = ()
    most: int = 1 << 14
    seconds: float = 5.0


def refused(error: CacheonError, secret: str = "") -> bool:
    """False: this is how bytes are refused. The message is one line that may be shown, and does
    not give a secret away."""
    assert error.message, type(error)
    assert error.message.isprintable(), ascii(error.message)
    assert len(error.message) <= 600, len(error.message)
    assert error.exit_code == 2, f"{type(error).__name__} is no refusal: {error.message}"
    assert not secret or secret not in error.message
    return False


@functools.cache
def room(name: str) -> Path:
    """A directory of a target's own, gone when the process ends."""
    held = tempfile.TemporaryDirectory(prefix=f"cacheon-fuzz-{name}-")
    atexit.register(held.cleanup)
    return Path(held.name)


def parts(data: bytes, names: Sequence[str]) -> Mapping[str, bytes]:
    """Several files in one input: each begins with a line `--- NAME`, the first without one.
    A line with another name is text like any other."""
    found: dict[str, list[bytes]] = {names[0]: []}
    into = found[names[0]]
    for line in data.split(b"\n"):
        name = line[4:].decode("latin-1") if line.startswith(b"--- ") else ""
        if name in names:
            into = found.setdefault(name, [])
            into.clear()
        else:
            into.append(line)
    return {name: b"\n".join(lines) for name, lines in found.items()}


def joined(files: Mapping[str, bytes]) -> bytes:
    """The input whose parts these files are; the first is the one without a line."""
    (_, first), *others = files.items()
    return first + b"".join(b"\n--- %s\n%s" % (name.encode(), body) for name, body in others)
