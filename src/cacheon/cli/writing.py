"""How verbs write: lines for a person, one JSON document for a machine."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cacheon.records.errors import InfrastructureError, InputError

if TYPE_CHECKING:
    from cacheon.report.line import Line

FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for a person, json for a program.",
)


def write_lines(lines: Iterable["Line"]) -> None:
    """Lines to standard output, with styles on a terminal only."""
    from cacheon.report.terminal import draw

    with _speaking():
        draw(lines)


def write_json(schema: str, body: Any) -> None:
    """A record or a mapping as one indented JSON object that names its schema."""
    from cacheon.report.document import document

    write_bytes(document(schema, body))


def write_bytes(data: bytes) -> None:
    with _speaking():
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@contextlib.contextmanager
def _speaking() -> Iterator[None]:
    """What is shown was shown. Raises InfrastructureError; that the reader of a pipe has gone
    is for `run` to say."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unheard(error) from error


def unheard(error: OSError) -> InfrastructureError:
    """What to raise where standard output takes nothing: from now on nothing is sent there."""
    # What is still buffered would fail once more as the interpreter leaves.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return InfrastructureError(f"standard output: {error.strerror or error}")


def write_new(path: Path, data: bytes) -> None:
    """A file that was not there before: nothing is ever overwritten. Raises InputError."""
    try:
        with path.open("xb") as file:
            file.write(data)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it.
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            file=str(path), place="--output", expected="a new file", got=reason or "no path"
        ) from error
