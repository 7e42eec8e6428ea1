"""Where eager calls of the candidate wait for the device: hints, should a capture fail.

They are noted in the second call of each warm-up, when what happens once has happened.
Calls whose answers are judged are left alone; there ranks note no more than where they meet
in a barrier, which they see without looking for it.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from cacheon.engine.protocol import Where
from cacheon.engine.worker.blame import line_inside

_MOST = 4
_SAID = "called a synchronizing CUDA operation"
_PROTOTYPE = "Synchronization debug mode is a prototype feature"
Mode = Callable[[str], None]
"""As `torch.cuda.set_sync_debug_mode`."""


class Waits:
    """`places`: the lines under `root`, the first few, each once."""

    def __init__(self, root: str = "") -> None:
        self.root = root
        self.places: list[Where] = []
        self._quiet = False
        """The candidate makes exceptions of warnings."""

    def note(self) -> None:
        """The line of the candidate that is running is one."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self.root:
            code = frame.f_code
            where = line_inside(code.co_filename, frame.f_lineno, code.co_name, self.root)
            if where is not None:
                if where not in self.places and len(self.places) < _MOST:
                    self.places.append(where)
                return
            frame = frame.f_back

    def call(
        self, entry: Callable[..., object], arguments: Callable[[], list[object]], mode: Mode
    ) -> None:
        """Call the entry while torch warns of what waits for the device. Where the entry
        makes an exception of that, it is called again without."""
        if not self._quiet:
            try:
                with _noting(self, mode):
                    entry(*arguments())
                return
            except Warning as warning:
                if not str(warning).startswith(_SAID):
                    raise
                self._quiet = True
        entry(*arguments())


@contextmanager
def _noting(waits: Waits, mode: Mode) -> Iterator[None]:
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def note(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if str(message).startswith(_SAID):
                waits.note()
            elif not str(message).startswith(_PROTOTYPE):
                shown(message, category, filename, lineno, file, line)

        for text in (_SAID, _PROTOTYPE):
            warnings.filterwarnings("always", message=text)
        warnings.showwarning = note
        mode("warn")
        try:
            yield
        finally:
            mode("default")
