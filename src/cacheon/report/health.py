"""What `doctor` found, in words."""

from collections.abc import Iterator, Sequence

from cacheon.records.errors import one_line
from cacheon.report.line import Line

_STYLE = {"ok": "green", "missing": "yellow", "trouble": "red"}


def check_line(name: str, state: str, found: str, advice: str) -> Line:
    """One thing that was looked at; `state` is ok, missing or trouble."""
    line = [(_STYLE[state], f"{state:<7}"), ("", f"  {name:<14}{one_line(found)}")]
    return [*line, ("dim", f"; {advice}")] if advice else line


def ability_lines(able: Sequence[tuple[str, bool]], isolation: str) -> Iterator[Line]:
    """What `verify` can show here."""
    for name, can in able:
        yield [("bold", f"{'can' if can else 'cannot':<7}"), ("", f"  {name}")]
    yield [("dim", f"isolation {isolation}")]
