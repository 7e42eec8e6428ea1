"""What a person who waits sees: one line that moves, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cacheon.engine.request import Progress
from cacheon.records.errors import one_line
from cacheon.report.terminal import wants_colour


def _nothing(_: Progress) -> None:
    """A pipe gets no progress."""


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """A function that shows a step; the line is gone on leaving."""
    if not wants_colour(sys.stderr):
        yield _nothing
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting", spinner="dots") as status:

        def tell(step: Progress) -> None:
            text = f"{step.slot} variant={step.variant}  {step.text}"
            status.update(one_line(text).replace("[", "\\["))

        yield tell
