"""Findings of a scan, in words."""

from collections.abc import Iterator, Sequence

from cacheon.records.errors import one_line
from cacheon.report.line import Line
from cacheon.scan.findings import ScanFinding, ScanReport

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def scan_lines(reports: Sequence[ScanReport]) -> Iterator[Line]:
    """Every finding at its place, ignored ones with their reason, and a line that counts."""
    for report in reports:
        for finding in report.findings:
            yield from _finding(report, finding)
    found = [finding for report in reports for finding in report.findings]
    ignored = sum(bool(finding.ignored) for finding in found)
    files = sum(report.files for report in reports)
    counted = _count(len(found) - ignored, "finding") + (f", {ignored} ignored" if ignored else "")
    yield [("bold", f"{counted} in {_count(files, 'source')}")]


def _finding(report: ScanReport, finding: ScanFinding) -> Iterator[Line]:
    style = "dim" if finding.ignored else _STYLES[finding.severity]
    yield [
        ("", f"{place(report, finding)}  "),
        (style, f"{finding.rule} {finding.severity}"),
        ("", f"  {finding.message}"),
    ]
    if finding.source:
        yield [("dim", f"    {finding.source}")]
    if finding.ignored:
        yield [("dim", f"    ignored: {finding.ignored}")]
    else:
        within = f"in {one_line(finding.function)} · " if finding.function else ""
        yield [("dim", f"    {within}cacheon explain {finding.rule}")]


def place(report: ScanReport, finding: ScanFinding) -> str:
    """The file of a finding as a person reaches it, with line and column where known."""
    at = f":{finding.line}:{finding.column}" if finding.line else ""
    return one_line(file_of(report, finding)) + at


def file_of(report: ScanReport, finding: ScanFinding) -> str:
    """The file of a finding from where the command was run."""
    return finding.file if report.root in ("", ".") else f"{report.root}/{finding.file}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
