"""From an exception to the line of the candidate that is to blame."""

import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from cacheon.engine.protocol import Where
from cacheon.engine.worker.backends.port import Failure

_LONGEST = 300
_RECORDING = "cacheon.engine.worker.backends.recording."
_RECORDER = Path(__file__).parent / "backends" / "recording"


def handed_over(function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Any:
    """Call what the candidate asked for. A C function has no frame: what it raises would
    seem to be raised by whoever calls it, and the recorder stands between the two."""
    return function(*args, **keywords)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, then what it hides, outermost first.

    The exception raised as a capture ends hides the candidate's own, which stands in its
    `__context__`."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def blame(error: BaseException, root: str) -> tuple[BaseException, Where | None]:
    """The innermost exception that passed through a file under `root`, and that line;
    the exception itself and None where none did. A broken rule hides behind no lack of a
    device that came before it."""
    found: tuple[BaseException, Where | None] = (error, None)
    for candidate in chain(error):
        where = _last_line_inside(candidate.__traceback__, root)
        broken = isinstance(found[0], Failure) and not found[0].needs_cuda and found[1] is not None
        lacking = isinstance(candidate, Failure) and candidate.needs_cuda
        if where is not None and not (broken and lacking):
            found = (candidate, where)
    if found[1] is None and isinstance(error, SyntaxError) and error.filename:
        where = line_inside(error.filename, error.lineno or 0, "<module>", root)
        if where is not None:
            return error, where
    return found


def is_ours(error: BaseException) -> bool:
    """Whether the recorder itself raised this, and not what the candidate had it call.

    A file's name is not believed: the code must be what the module of that name holds."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames:
        return False
    name = str(frames[-1].f_globals.get("__name__", ""))
    module = sys.modules.get(name)
    if (
        module is None
        or not name.startswith(_RECORDING)
        or vars(module) is not frames[-1].f_globals
    ):
        return False
    source = (_RECORDER / f"{name.rpartition('.')[2]}.py").read_bytes()
    return frames[-1].f_code in _codes(compile(source, str(_RECORDER), "exec", dont_inherit=True))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def first_line(error: BaseException) -> str:
    """The exception's own words, one line; a broken `__str__` is no way to stop us."""
    try:
        text = str(error)
    except BaseException as broken:
        text = f"(its own message raised {type(broken).__name__})"
    lines = text.strip().splitlines()
    return lines[0][:1500] if lines else ""


def _last_line_inside(tb: TracebackType | None, root: str) -> Where | None:
    where = None
    for frame, line in traceback.walk_tb(tb):
        found = line_inside(frame.f_code.co_filename, line, frame.f_code.co_name, root)
        where = found or where
    return where


def line_inside(file: str, line: int, function: str, root: str) -> Where | None:
    """A line, where its file lies under `root`; else None."""
    if not file.startswith(root + os.sep):
        return None
    return Where(
        file=file[len(root) + 1 :][:_LONGEST],
        line=max(0, min(line, 10_000_000)),
        function=function[:_LONGEST],
        source=linecache.getline(file, line).strip()[:_LONGEST],
    )
