"""What an observer's run wrote, and what a qualification decided, in words."""

from collections.abc import Iterator

from cacheon.records.errors import one_line
from cacheon.report.decisions import STYLES, reason_lines
from cacheon.report.line import Line
from cacheon.report.results import Observed, Qualification, Qualified
from cacheon.report.text import row_lines

OBSERVED = "cacheon.observe.v1"
QUALIFIED = "cacheon.qualify.v1"


def observed_lines(observed: Observed) -> Iterator[Line]:
    """Rows that did not pass, then the references by which the rest of the world finds it."""
    yield from _rows(observed)
    for variant in observed.resumed:
        yield [("dim", f"  seen before, not examined again: {one_line(variant)}")]
    yield [("", f"requirement  {observed.requirement}")]
    yield [("", f"run          {observed.run}")]
    yield [("", f"observer     {observed.observer}")]
    yield [("", f"observations {len(observed.observations)}")]
    yield [("bold", f"delivery     {observed.delivery}")]


def qualification_lines(decided: Qualification) -> Iterator[Line]:
    for number, bundle in enumerate(decided.bundles):
        if bundle.grade is None:
            continue
        if number:
            yield []
        yield from _bundle_lines(bundle)


def _bundle_lines(bundle: Qualified) -> Iterator[Line]:
    grade = bundle.grade
    if grade is None or bundle.observed is None:
        return
    policy = grade.policy
    under = f" under {policy.arena} version {policy.version}" if policy else ""
    yield [
        (STYLES[grade.decision], f"[{grade.decision}]"),
        ("", f" {one_line(bundle.path, 300)}{under}"),
    ]
    yield from _rows(bundle.observed)
    if bundle.refused:
        yield [("yellow", f"  not taken in: {one_line(bundle.refused)}")]
    yield from reason_lines(grade)
    yield [("dim", f"  requirement {bundle.requirement}")]
    yield [("dim", f"  grade       {bundle.graded}")]


def _rows(observed: Observed) -> Iterator[Line]:
    remedied: set[str] = set()
    for outcome in observed.outcomes:
        for row in outcome.rows:
            if row.status in ("fail", "incomplete"):
                yield from row_lines(row, outcome, False, remedied)
