"""How verbs write: lines for a person, one JSON document for a machine."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

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

    draw(lines)


def write_json(schema: str, body: Any) -> None:
    """A record or a mapping as one indented JSON object that names its schema."""
    from cacheon.report.document import document

    write_bytes(document(schema, body))


def write_bytes(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
