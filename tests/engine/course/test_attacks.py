"""Bundles that once passed and should not have, and some that no shipped example is like:
each is found out, in every case that fails by a rule of its table."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.course.runs import ROOT, brief, failures, verify

BUNDLES = ROOT / "tests" / "bundles"
KINDS = ("attacks", "faults")


def expected(kind: str) -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = json.loads((BUNDLES / kind / "expect.json").read_text())
    return table


def undetected(kind: str, device: str, records: Path | None = None) -> list[str]:
    table = expected(kind)
    document: dict[str, Any] = verify(*(BUNDLES / kind / name for name in table), device=device)
    if records is not None:
        (records / f"{kind}.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = []
    for (name, wanted), bundle in zip(table.items(), document["bundles"], strict=True):
        found = {(row["failure"], row["findings"][0]["rule"]) for row in failures(bundle)}
        allowed = {(wanted["class"], rule) for rule in wanted["rule"].split("|")}
        said = [row["findings"][0]["message"] for row in failures(bundle)]
        unsaid = not all(wanted.get("says", "") in message for message in said)
        if not found or not found <= allowed or unsaid:
            wrong.append(f"{name}: {brief(bundle)}")
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_names_every_bundle(kind: str) -> None:
    there = [path.name for path in (BUNDLES / kind).iterdir() if path.is_dir()]
    assert sorted(expected(kind)) == sorted(there)


@pytest.mark.parametrize("kind", KINDS)
def test_none_passes_on_a_cpu(kind: str) -> None:
    assert not undetected(kind, "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_none_passes_on_a_gpu(kind: str, records_directory: Path) -> None:
    assert not undetected(kind, "cuda", records_directory)
