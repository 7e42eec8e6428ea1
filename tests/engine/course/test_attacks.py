"""Bundles that once passed and should not have: each is found out now, in every case."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.course.runs import ROOT, brief, failures, verify

ATTACKS = ROOT / "tests" / "bundles" / "attacks"
EXPECTED: dict[str, dict[str, str]] = json.loads((ATTACKS / "expect.json").read_text())


def undetected(device: str, records: Path | None = None) -> list[str]:
    document: dict[str, Any] = verify(*(ATTACKS / name for name in EXPECTED), device=device)
    if records is not None:
        (records / "attacks.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = []
    for (name, wanted), bundle in zip(EXPECTED.items(), document["bundles"], strict=True):
        found = {(row["failure"], row["findings"][0]["rule"]) for row in failures(bundle)}
        allowed = {(wanted["class"], rule) for rule in wanted["rule"].split("|")}
        if not found or not found <= allowed:
            wrong.append(f"{name}: {brief(bundle)}")
    return wrong


def test_the_table_names_every_attack() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in ATTACKS.iterdir() if path.is_dir())


def test_none_passes_on_a_cpu() -> None:
    assert not undetected("cpu")


@pytest.mark.gpu
def test_none_passes_on_a_gpu(records_directory: Path) -> None:
    assert not undetected("cuda", records_directory)
