"""Drawing lines: styles on a terminal that wants them, plain text everywhere else."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from cacheon.report.line import Line


def wants_colour(stream: TextIO) -> bool:
    """A terminal, and nobody has asked for no colour (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def draw(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Write lines to a stream, standard output by default."""
    target = sys.stdout if stream is None else stream
    if not wants_colour(target):
        for line in lines:
            target.write("".join(text for _, text in line) + "\n")
        target.flush()
        return
    # Loaded only where something is drawn.
    from rich.console import Console
    from rich.text import Text

    console = Console(file=target, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((text, style) for style, text in line)))
