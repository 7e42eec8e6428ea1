"""`scan`: sources in, findings out. Nothing of theirs is imported or run."""

from collections.abc import Sequence
from pathlib import Path

from cacheon.scan.findings import ScanReport
from cacheon.scan.paths import scan_path


def scan(paths: Sequence[Path]) -> tuple[ScanReport, ...]:
    """A report for each bundle, package or file. One that cannot be read does not stop
    the others: its report says so."""
    return tuple(report for path in paths for report in scan_path(path))
