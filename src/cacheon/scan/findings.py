"""What a scan finds, and the whole of it."""

from typing import Literal

from cacheon.records.strict import Record
from cacheon.rules.model import Confidence, Severity


class ScanFinding(Record):
    """One fault at one place. `file` is relative to what was scanned, lines and columns
    count from 1 (0 for a whole file). `ignored`: the reason that the source gives for
    leaving it; such a finding is shown and does not count."""

    rule: str
    file: str
    line: int
    column: int
    function: str
    source: str
    message: str
    severity: Severity
    confidence: Confidence
    ignored: str = ""

    @property
    def hostile(self) -> bool:
        """Whether it fails a bundle whatever its calls compute; a comment of the
        candidate's own excuses nothing here."""
        return self.rule.startswith("CG9") and self.severity == "error"


class ScanReport(Record, kw_only=True):
    """`path` as it was given; `root`: the directory that files are relative to. `files`:
    sources that were read. `unusable`: a line for each that could not be."""

    path: str
    root: str = ""
    kind: Literal["bundle", "source", "unusable"]
    files: int
    findings: tuple[ScanFinding, ...] = ()
    unusable: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 2 something could not be read."""
        if self.unusable:
            return 2
        return int(any(not finding.ignored for finding in self.findings))
