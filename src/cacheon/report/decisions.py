"""Grades in words: the decision, every reason, and what to do about each."""

from collections.abc import Iterator

from cacheon.evidence.grade import Grade, Reason
from cacheon.evidence.reasons import REASONS
from cacheon.records.errors import one_line
from cacheon.report.line import Line

STYLES = {"PASS": "bold green", "FAIL": "bold red", "NO_DECISION": "bold magenta"}


def reason_lines(grade: Grade) -> Iterator[Line]:
    """Every reason, the leading one first; what to do stands once for each code. Then what
    was set aside, and why."""
    said: set[str] = set()
    for reason in grade.reasons:
        yield [("", f"  {_about(reason)}"), ("dim", f"  {one_line(reason.detail)}")]
        if reason.code not in said and reason.code in REASONS:
            said.add(reason.code)
            yield [("dim", f"       {REASONS[reason.code].title}")]
            yield [("dim", f"       {REASONS[reason.code].remedy}")]
    for aside in grade.set_aside:
        yield [
            ("yellow", f"  set aside {aside.what[:12]}: {aside.code}"),
            ("dim", f"  {one_line(aside.detail)}"),
        ]


def _about(reason: Reason) -> str:
    parts = [reason.code]
    if reason.slot:
        parts.append(f"{reason.slot} variant={reason.variant}" if reason.variant else reason.slot)
    if reason.case:
        parts.append(f"case={reason.case[:12]}")
    if reason.observer:
        parts.append(f"observer={reason.observer[:12]}")
    return " ".join(parts)
