"""A run as JUnit XML: one suite a variant, one test case a row."""

from xml.etree import ElementTree

from cacheon.engine.outcome import BundleOutcome, CaseRow, RunOutcome, VariantOutcome
from cacheon.records.errors import one_line
from cacheon.report.text import place


def junit(run: RunOutcome) -> bytes:
    """The document, in UTF-8. A bundle that is unusable is a suite with one error."""
    root = ElementTree.Element("testsuites", name="cacheon verify")
    for bundle in run.bundles:
        for outcome in bundle.variants:
            _suite(root, bundle, outcome)
        if bundle.error:
            suite = ElementTree.SubElement(
                root, "testsuite", name=one_line(bundle.path), tests="1", errors="1", failures="0"
            )
            case = ElementTree.SubElement(suite, "testcase", name="bundle")
            ElementTree.SubElement(case, "error", message=one_line(bundle.error))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: ElementTree.Element, bundle: BundleOutcome, outcome: VariantOutcome) -> None:
    rows = outcome.rows
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=one_line(f"{bundle.bundle_id} {outcome.slot} {outcome.variant}"),
        tests=str(len(rows)),
        failures=str(sum(row.status == "fail" for row in rows)),
        errors=str(sum(row.status == "incomplete" for row in rows)),
        skipped=str(sum(row.status == "not_applicable" for row in rows)),
        time=f"{outcome.seconds:.3f}",
    )
    for row in rows:
        _case(suite, row, outcome)


def _case(suite: ElementTree.Element, row: CaseRow, outcome: VariantOutcome) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=outcome.slot, name=one_line(row.label)
    )
    match row.status:
        case "fail":
            lines = [
                one_line(f"{f.stage}: {f.message} → {f.rule}; {place(f, outcome)}", 1500)
                for f in row.findings
            ]
            failure = ElementTree.SubElement(
                case, "failure", type=row.failure, message=(lines or [f"class {row.failure}"])[0]
            )
            failure.text = "\n".join([*lines, *(f"hint: {one_line(h, 500)}" for h in row.hints)])
        case "incomplete":
            ElementTree.SubElement(case, "error", message=one_line(row.infrastructure))
        case "not_applicable":
            ElementTree.SubElement(case, "skipped", message="not applicable")
        case "ok":
            return
