"""The scan as a plugin of flake8, which calls it for each file."""

import ast
from collections.abc import Iterator
from pathlib import Path

import cacheon
from cacheon.scan.paths import scan_path


class Plugin:
    """Findings that the source does not answer for, as flake8 wants them. The file is
    read again from disk, together with the bundle around it."""

    name = "cacheon"
    version = cacheon.__version__

    def __init__(self, tree: ast.AST, filename: str) -> None:
        self.path = Path(filename)

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        """Line, column from 0, text that begins with the rule, and who says so."""
        if not self.path.is_file():
            # From standard input: there is no bundle around it, and no second reading.
            return
        for report in scan_path(self.path):
            for finding in report.findings:
                if not finding.ignored:
                    text = f"{finding.rule} {finding.message}"
                    yield max(finding.line, 1), max(finding.column - 1, 0), text, type(self)
            for line in report.unusable:
                yield 1, 0, f"CG806 {line}", type(self)
