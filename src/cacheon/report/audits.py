"""Audits and logs in words."""

from collections.abc import Iterator, Sequence

from cacheon.evidence.checkpoint import Checkpoint, Entry
from cacheon.evidence.grade import Grade, SetAside
from cacheon.records.errors import one_line
from cacheon.report.decisions import STYLES, reason_lines
from cacheon.report.line import Line

_OUTCOMES = {
    "same": ("bold green", "SAME", "the evidence grades to what was published"),
    "differs": ("bold red", "DIFFERS", "the evidence grades to something else"),
    "lost": ("bold magenta", "LOST", "evidence is gone: nobody can recompute this grade"),
}


def audit_lines(
    digest: str, outcome: str, published: Grade, made: Grade, lost: Sequence[SetAside]
) -> Iterator[Line]:
    """The outcome, both decisions where they may differ, and what could not be had."""
    style, word, words = _OUTCOMES[outcome]
    yield [(style, f"[{word}]"), ("", f" {words}")]
    yield [("", "  published "), (STYLES[published.decision], published.decision)]
    if outcome == "differs":
        yield [("", "  today     "), (STYLES[made.decision], made.decision)]
        yield from reason_lines(made)
        if (made.decision, made.reasons) == (published.decision, published.reasons):
            yield [("red", "  the grade names another policy, or other evidence, than it rests on")]
    for each in lost:
        yield [
            ("red", f"  lost {each.what}: {each.code}"),
            ("dim", f"  {one_line(each.detail)}"),
        ]
    if published.grader_digest != made.grader_digest:
        yield [
            ("yellow", f"  graded by another version of the code: {one_line(published.grader, 40)}")
        ]
    yield [("dim", f"  requirement {published.requirement}")]
    yield [("dim", f"  grade       {digest}")]


def logged_lines(
    origin: str, contradiction: str, size: int, since: int, covered: dict[str, bool]
) -> Iterator[Line]:
    """What a log is worth, and whether its last checkpoint covers each of `covered`."""
    yield [("bold", f"log {one_line(origin)}")]
    if contradiction:
        yield [("bold red", "  contradicts what it signed"), ("", f"  {contradiction}")]
        return
    yield [("green", f"  fits its last checkpoint of {size} entries")]
    if since >= 0:
        yield [("green", f"  begins with the {since} entries of the earlier checkpoint")]
    for kind, there in covered.items():
        words = "covered" if there else "not covered by the last checkpoint"
        yield [("green" if there else "bold red", f"  {kind}: {words}")]


def absent_lines(absent: Sequence[Entry]) -> Iterator[Line]:
    """Entries whose bytes a store lacks."""
    for entry in absent:
        yield [("red", f"  deleted: {entry.kind} {entry.digest}")]


def stored_line(absent: Sequence[Entry]) -> Line:
    """How far a store was looked at for a log: no more than its entries themselves."""
    words = "looked for the records that are listed" if absent else "every record listed is stored"
    return [("dim", f"  {words}; what they rest on is for `cacheon audit` and `cacheon fsck`")]


def checkpoint_line(checkpoint: Checkpoint) -> Line:
    """A checkpoint on one line."""
    return [
        ("bold", f"{one_line(checkpoint.origin)}"),
        ("", f"  {checkpoint.size} entries"),
        ("dim", f"  root {checkpoint.root}"),
    ]
