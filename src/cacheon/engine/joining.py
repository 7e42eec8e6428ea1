"""Two orders that were walked side by side, put together as one outcome."""

from collections.abc import Sequence

import msgspec

from cacheon.engine.outcome import CaseRow, Finding, Status, VariantOutcome
from cacheon.engine.verdict import verdict_of


def joined(parts: Sequence[VariantOutcome]) -> VariantOutcome:
    """One outcome of parts that hold different orders of the same cases, in the order of
    the parts. What was seen on a CPU is never in parts."""
    first = parts[0]
    if len(parts) == 1:
        return first
    rows = first.rows
    for part in parts[1:]:
        rows = tuple(_row(a, b) for a, b in zip(rows, part.rows, strict=True))
    graph = first.graph != "not-required"
    verdict = verdict_of(rows, device="cuda", graph=graph, needs_cuda=False)
    return msgspec.structs.replace(
        first,
        rows=rows,
        word=verdict.word,
        graph=verdict.graph,
        rehearsal=verdict.rehearsal,
        probes=tuple(sorted({probe for part in parts for probe in part.probes})),
        seconds=max(part.seconds for part in parts),
    )


def _row(one: CaseRow, other: CaseRow) -> CaseRow:
    """A failure in either order fails the row, and what is incomplete in one is
    incomplete; the first order that failed leads."""
    leading = one if one.status == "fail" or other.status != "fail" else other
    status: Status = "incomplete" if "incomplete" in (one.status, other.status) else one.status
    if leading.status == "fail":
        status = "fail"
    companies = (one.company, other.company)
    known = {_fault(finding) for finding in one.findings}
    return msgspec.structs.replace(
        one,
        status=status,
        failure=leading.failure,
        stage=leading.stage,
        findings=(*one.findings, *(f for f in other.findings if _fault(f) not in known)),
        orders=(*one.orders, *other.orders),
        max_abs=_larger(one.max_abs, other.max_abs),
        max_relative=_larger(one.max_relative, other.max_relative),
        company="alone" if "alone" in companies else one.company or other.company,
        nodes=one.nodes or other.nodes,
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
        infrastructure=(one.infrastructure or other.infrastructure)
        if status == "incomplete"
        else "",
    )


def _fault(finding: Finding) -> tuple[str, object]:
    """What makes the findings of two orders the same fault."""
    return finding.rule, finding.place


def _larger(one: str, other: str) -> str:
    """The larger of two `float.hex()` strings, either of which may be empty; a NaN stays."""
    if not one or not other:
        return one or other
    return one if not float.fromhex(one) < float.fromhex(other) else other
