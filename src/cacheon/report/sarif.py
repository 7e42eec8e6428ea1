"""A scan as SARIF 2.1.0, for what shows findings beside code."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

import cacheon
from cacheon.report.document import spelled
from cacheon.report.findings import file_of
from cacheon.rules.catalogue import RULES
from cacheon.rules.model import Rule
from cacheon.scan.findings import ScanFinding, ScanReport

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_BASE = "%SRCROOT%"


def sarif(reports: Sequence[ScanReport]) -> bytes:
    """The log, in UTF-8. It lists the rules that it speaks of; an ignored finding is a
    suppressed result, and a source that could not be read a notification."""
    ids = sorted({finding.rule for report in reports for finding in report.findings})
    run = {
        "tool": {
            "driver": {
                "name": "cacheon",
                "version": cacheon.__version__,
                "rules": [_rule(RULES[id]) for id in ids],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"uri": f"{Path.cwd().as_uri()}/"}},
        "invocations": [
            {
                "executionSuccessful": not any(report.unusable for report in reports),
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": line}}
                    for report in reports
                    for line in report.unusable
                ],
            }
        ],
        "results": [
            _result(report, finding, ids.index(finding.rule))
            for report in reports
            for finding in report.findings
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return spelled(msgspec.json.encode(log))


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.title.split()),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"confidence": rule.confidence, "group": rule.group},
    }


def _file(path: str) -> dict[str, str]:
    """Where a file is: from the directory that the command was run in, if below it."""
    near = os.path.relpath(path)
    if near.startswith(".."):
        return {"uri": Path(os.path.abspath(path)).as_uri()}
    return {"uri": quote(Path(near).as_posix()), "uriBaseId": _BASE}


def _result(report: ScanReport, finding: ScanFinding, index: int) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": _file(file_of(report, finding))}
    if finding.line:
        where["region"] = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "snippet": {"text": finding.source},
        }
    location: dict[str, Any] = {"physicalLocation": where}
    if finding.function:
        location["logicalLocations"] = [{"name": finding.function, "kind": "function"}]
    result = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": f"{finding.message}; see `cacheon explain {finding.rule}`"},
        "locations": [location],
    }
    if finding.ignored:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.ignored}]
    return result
