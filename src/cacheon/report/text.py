"""A run in words, for a terminal or a pipe: pure functions from outcomes to lines.

All text that comes from a bundle passes `one_line`.
"""

import re
from collections.abc import Iterator

from cacheon.engine.outcome import BundleOutcome, CaseRow, Finding, RunOutcome, VariantOutcome
from cacheon.records.errors import one_line
from cacheon.report.line import Line
from cacheon.rules.catalogue import RULES
from cacheon.scan.findings import ScanFinding

_WORD_STYLE = {
    "PASS": "bold green",
    "NUMERICAL_PASS": "bold yellow",
    "FAIL": "bold red",
    "N/A": "dim",
    "NO_DECISION": "bold magenta",
}


_UNREPLAYED = ("needs CUDA", "not rehearsed")
"""How a note begins that says why a row that is right was not replayed."""


def run_lines(run: RunOutcome, verbose: bool) -> Iterator[Line]:
    """Everything of a run."""
    for number, bundle in enumerate(run.bundles):
        if number:
            yield []
        yield from bundle_lines(bundle, verbose, several=len(run.bundles) > 1)
    if not any(bundle.variants for bundle in run.bundles):
        return
    device = run.environment.get("device", run.device)
    yield [("dim", f"seed {run.seed} on {one_line(device)}; repeat with --seed {run.seed}")]


def bundle_lines(bundle: BundleOutcome, verbose: bool, several: bool) -> Iterator[Line]:
    if several:
        yield [("bold", one_line(bundle.path, 300))]
    for variant in bundle.variants:
        yield from variant_lines(variant, verbose)
    found = [f for v in bundle.variants for row in v.rows for f in row.findings]
    said = {(f.rule, f.place.file, f.place.line) for f in found if f.place}
    for finding in bundle.scanned:
        if finding.hostile or (finding.rule, finding.file, finding.line) not in said:
            yield _scanned(finding)
    for row in bundle.not_selected:
        yield [("dim", f"  not selected: {one_line(row)}")]
    for warning in bundle.warnings:
        yield [("yellow", f"  warning: {one_line(warning)}")]


def _scanned(finding: ScanFinding) -> Line:
    """What the source says, in a line; hostile material is a failure, the rest is advice."""
    at = f"{one_line(finding.file)}:{finding.line}"
    return [
        ("bold red", "  FAIL ") if finding.hostile else ("yellow", "  scan "),
        ("", f"{at} {finding.rule} {one_line(finding.message)}"),
        ("dim", f"  `cacheon explain {finding.rule}`"),
    ]


def variant_lines(outcome: VariantOutcome, verbose: bool) -> Iterator[Line]:
    """The headline of a variant, then a line a case, then notes."""
    yield [
        (_style(outcome), f"[{outcome.word}]"),
        ("", f" {headline(outcome)}"),
    ]
    remedied: set[str] = set()
    for row in outcome.rows:
        yield from row_lines(row, outcome, verbose, remedied)
    for note in outcome.notes:
        yield [("dim", f"  note: {one_line(note)}")]


def _style(outcome: VariantOutcome) -> str:
    if outcome.word == "NUMERICAL_PASS" and outcome.rehearsal == "passed":
        return "bold green"
    return _WORD_STYLE[outcome.word]


def headline(outcome: VariantOutcome) -> str:
    """What stands behind the word, `slot variant=… dtype=… graph=…`."""
    applicable = [row for row in outcome.rows if row.applicable]
    examined = [row for row in applicable if row.status != "incomplete"]
    parts = [
        outcome.slot,
        f"variant={outcome.variant}",
        f"dtype={outcome.dtype}",
        f"graph={outcome.graph}",
    ]
    ranks = max((len(row.ranks) for row in outcome.rows), default=0)
    if ranks:
        parts.insert(3, f"ranks={ranks}")
    if outcome.graph == "verified":
        parts.append(f"graph_replays={outcome.graph_replays}")
    if outcome.rehearsal:
        parts.append(f"rehearsal={outcome.rehearsal}")
    parts.append(f"coverage={len(examined)}/{len(applicable)}")
    replayed = [row for row in examined if row.replayed[0]]
    if outcome.rehearsal == "passed" and len(replayed) < len(examined):
        parts.append(f"rehearsed={len(replayed)}/{len(examined)}")
    parts.append(f"n/a={len(outcome.rows) - len(applicable)}")
    if outcome.domain == "partial":
        parts.append("domain=partial")
    if outcome.isolation != "process":
        parts.append(f"isolation={outcome.isolation}")
    return one_line(" ".join(parts))


def row_lines(
    row: CaseRow, outcome: VariantOutcome, verbose: bool, remedied: set[str]
) -> Iterator[Line]:
    """A row; rules whose remedy was said for an earlier one are in `remedied`, and hints."""
    label = one_line(row.label)
    match row.status:
        case "ok":
            shown = _replayed(row) if outcome.graph != "not-required" else ""
            yield [
                ("green", "  ok   "),
                ("", f"{label}  max_abs={_number(row.max_abs)}{shown}"),
            ]
            yield from _hints(row, remedied) if shown else ()
        case "not_applicable":
            yield [("dim", f"  n/a  {label}")]
        case "incomplete":
            yield [("magenta", "  ???  "), ("", f"{label}  {one_line(row.infrastructure)}")]
            yield from _hints(row, remedied)
        case "fail":
            yield from _failure(row, outcome, label, remedied)
    if verbose:
        yield from _details(row)


def _replayed(row: CaseRow) -> str:
    """What was compared in each order, and why that is nothing where it is."""
    compared, in_bursts = row.replayed
    if compared:
        return f"  replays={compared}+{in_bursts}"
    why = next((note for note in row.notes if note.startswith(_UNREPLAYED)), "")
    return f"  replays=0: {one_line(why)}" if why else "  replays=0"


def _failure(
    row: CaseRow, outcome: VariantOutcome, label: str, remedied: set[str]
) -> Iterator[Line]:
    if not row.findings:
        yield [("red", "  FAIL "), ("", f"{label}  class {row.failure}, stage {row.stage}")]
    for number, finding in enumerate(row.findings):
        rule = RULES.get(finding.rule)
        title = f" {rule.title}" if rule else ""
        head = label if number == 0 else " " * len(label)
        yield [
            ("red", "  FAIL " if number == 0 else "       "),
            ("", f"{head}  {where_in_course(row, finding)}: {one_line(finding.message, 900)}"),
            ("bold", f"  → {finding.rule}{title}"),
        ]
        yield [("", f"       {place(finding, outcome)}")]
        if rule and rule.id not in remedied:
            remedied.add(rule.id)
            yield [("dim", f"       {_first_sentence(rule.remedy)}; `cacheon explain {rule.id}`")]
    yield from _hints(row, remedied)


def _hints(row: CaseRow, said: set[str]) -> Iterator[Line]:
    """Those that no earlier row had."""
    for hint in row.hints:
        if hint in said:
            continue
        said.add(hint)
        yield [("yellow", f"       hint: {one_line(hint, 500)}")]


def where_in_course(row: CaseRow, finding: Finding) -> str:
    """The stage, and what else is known of when it shows."""
    words: str = finding.stage
    if row.failure != finding.stage:
        words += f", class {row.failure}"
    if finding.order:
        words += f" ({finding.order})"
    if row.company == "company":
        words += ", only beside other cases"
    return words


def place(finding: Finding, outcome: VariantOutcome) -> str:
    """`kernels/k.py:9  x.item()`, or the entry where no line can be known."""
    if finding.place is None:
        return one_line(f"{outcome.source}  entry {outcome.entry}")
    return one_line(
        f"{finding.place.file}:{finding.place.line}  in {finding.place.function}: "
        f"{finding.place.source}"
    )


def _first_sentence(text: str) -> str:
    """Enough for a row; the rest is what `explain` is for."""
    end = re.search(r"\.\s+(?=[A-Z`])|\.$", text)
    return text[: end.start()] if end else text


def _details(row: CaseRow) -> Iterator[Line]:
    yield [("dim", f"         origin={row.origin} max_relative={_number(row.max_relative)}")]
    for order in row.orders:
        stages = " ".join(order.stages)
        yield [
            (
                "dim",
                f"         {order.order}: {stages}; replays {order.replays_passed} of "
                f"{order.replays_completed}, bursts {order.soak_passed} of {order.soak_completed}",
            )
        ]
    if row.rank is not None:
        yield [("dim", f"         to blame: rank {row.rank} of {len(row.ranks)}")]
    if row.nodes:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(row.nodes.items()))
        yield [("dim", f"         graph nodes: {one_line(counted)}")]
    for note in row.notes:
        yield [("dim", f"         {one_line(note)}")]


def _number(text: str) -> str:
    return f"{float.fromhex(text):.1e}" if text else "-"
