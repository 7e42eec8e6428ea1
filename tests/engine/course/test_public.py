"""Bundles of the public format run unchanged, on a CPU and on a GPU."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.engine.course.runs import brief, verify

DIRECTORY = ROOT / "tests" / "bundles" / "public"
EXPECTED: dict[str, dict[str, Any]] = json.loads((DIRECTORY / "expect.json").read_text())


def disagreements(document: dict[str, Any], device: str) -> list[str]:
    """Variants that were not examined, or not with the expected outcome."""
    words = {
        "cuda": {"pass": "PASS", "n/a": "N/A"},
        "cpu": {"pass": "NUMERICAL_PASS", "n/a": "N/A"},
    }[device]
    wrong = []
    for name, bundle in zip(sorted(EXPECTED), document["bundles"], strict=True):
        seen = {(v["slot"], v["variant"]): v["word"] for v in bundle["variants"]}
        for row in EXPECTED[name]["variants"]:
            if not row["selected"]:
                continue
            wanted = words["pass" if row[device] == "pass" else "n/a"]
            if seen.get((row["slot"], row["variant"])) != wanted:
                wrong.append(f"{name} {row['variant']}: expected {wanted}: {brief(bundle)}")
    return wrong


def test_there_are_ten_and_more() -> None:
    assert len(EXPECTED) >= 10


def test_public_bundles_on_a_cpu() -> None:
    document = verify(*(DIRECTORY / name for name in sorted(EXPECTED)), device="cpu")
    wrong = disagreements(document, "cpu")
    assert not wrong, "\n".join(wrong)


@pytest.mark.gpu
def test_public_bundles_on_a_gpu(records_directory: Path) -> None:
    document = verify(*(DIRECTORY / name for name in sorted(EXPECTED)), device="cuda")
    (records_directory / "public.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = disagreements(document, "cuda")
    assert not wrong, "\n".join(wrong)
