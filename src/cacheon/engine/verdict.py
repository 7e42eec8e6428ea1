"""From rows to the words of a variant: what was shown, and what was not."""

from collections.abc import Sequence
from typing import NamedTuple

from cacheon.engine.outcome import CaseRow, Graph, Rehearsal, Word
from cacheon.engine.request import Device


class Verdict(NamedTuple):
    word: Word
    graph: Graph
    rehearsal: Rehearsal


def verdict_of(
    rows: Sequence[CaseRow], *, device: Device, graph: bool, needs_cuda: bool
) -> Verdict:
    """The words of one variant.

    `graph`: graph proof was asked for. On a CPU it cannot be had, and the best word is
    NUMERICAL_PASS with what the rehearsal showed; a failure hides behind no other row,
    and nothing incomplete passes."""
    applicable = [row for row in rows if row.applicable]
    asked: Graph = "NOT_VERIFIED" if graph else "not-required"
    if not applicable:
        return Verdict("N/A", asked, "")
    classes = {row.failure for row in applicable if row.status == "fail"}
    if "eager" in classes:
        return Verdict("FAIL", asked, "")
    if classes:
        return Verdict("NUMERICAL_PASS", "NOT_VERIFIED", "failed" if device == "cpu" else "")
    if any(row.status == "incomplete" for row in applicable):
        if needs_cuda and device == "cpu":
            return Verdict("NO_DECISION", asked, "needs-cuda")
        return Verdict("NO_DECISION", asked, "")
    if not graph:
        return Verdict("PASS", "not-required", "")
    if device == "cpu":
        return Verdict("NUMERICAL_PASS", "NOT_VERIFIED", "needs-cuda" if needs_cuda else "passed")
    return Verdict("PASS", "verified", "")
