"""Hostile material in a bundle's source (CG9xx): it fails every case that would have passed."""

from collections.abc import Sequence

import msgspec

from cacheon.engine.outcome import CaseRow, Finding, Place, VariantOutcome
from cacheon.engine.request import Device
from cacheon.engine.verdict import verdict_of
from cacheon.scan.findings import ScanFinding


def with_hostility(
    outcome: VariantOutcome, scanned: Sequence[ScanFinding], *, device: Device, graph: bool
) -> VariantOutcome:
    """The outcome, and what the scan found before anything was loaded.

    The first hostile finding of the bundle stands in each row that applies and has no failure
    of its own, as an eager failure at load; a row that failed keeps what it failed by, one
    that was cut off stays incomplete. `graph`: graph proof was asked for."""
    first = next((finding for finding in scanned if finding.hostile), None)
    if first is None:
        return outcome
    rows = tuple(_failed(row, first) if row.status == "ok" else row for row in outcome.rows)
    needs_cuda = outcome.rehearsal == "needs-cuda"
    verdict = verdict_of(rows, device=device, graph=graph, needs_cuda=needs_cuda)
    return msgspec.structs.replace(
        outcome, rows=rows, word=verdict.word, graph=verdict.graph, rehearsal=verdict.rehearsal
    )


def _failed(row: CaseRow, seen: ScanFinding) -> CaseRow:
    place = Place(file=seen.file, line=seen.line, function=seen.function, source=seen.source)
    finding = Finding(rule=seen.rule, stage="load", message=seen.message, place=place)
    return msgspec.structs.replace(
        row, status="fail", failure="eager", stage="load", findings=(finding, *row.findings)
    )
