"""The pages of the evidence layer that are made from the code are current."""

import importlib.util
from pathlib import Path
from types import ModuleType

import msgspec

import cacheon.evidence
from cacheon.records.strict import Record

DOCS = Path(__file__).parents[2] / "docs" / "evidence"
ELSEWHERE = {
    # Described in auditor.md by the standards that name their fields.
    *("DigestSet", "Subject", "GradePredicate", "Resource", "Verifier", "Summary", "Statement"),
    # Never stored or sent.
    *("Pin", "Opened", "ReasonCode", "Health", "Swept", "Listed", "Reach", "Limits"),
}
"""Records of the package that the page leaves out."""


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("records_page", DOCS / "generate_records.py")
    assert spec is not None and spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    return page


def test_the_schema_reference_is_what_the_records_say() -> None:
    page = generator()
    assert (DOCS / "records.md").read_text() == page.reference(), "run `make reference`"


def test_every_record_has_its_place() -> None:
    for path in Path(cacheon.evidence.__file__).parent.rglob("*.py"):
        parts = path.relative_to(Path(cacheon.evidence.__file__).parent).with_suffix("").parts
        importlib.import_module(".".join(("cacheon.evidence", *parts)))
    records = {
        kind.__name__ for kind in every(Record) if kind.__module__.startswith("cacheon.evidence.")
    }
    described = {kind.__name__ for _, kinds in generator().GROUPS for kind in kinds}
    assert records - described == ELSEWHERE


def every(kind: type[msgspec.Struct]) -> set[type[msgspec.Struct]]:
    return {kind}.union(*map(every, kind.__subclasses__()))
