"""What the scan finds of hostility, `cacheon verify` prints itself, and fails on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
BROKEN = SOURCES / "cacheon" / "examples" / "broken"
FOUND = {"patched_comparison": [3, 4, 5], "reads_the_callers_frames": [8, 10, 14]}
"""Example → the lines of its CG905."""


def verified(name: str, form: str) -> str:
    """The report of an examination on the CPU that ends with status 1."""
    words = ["verify", str(BROKEN / name), "--device", "cpu", "--format", form]
    command = [sys.executable, "-m", "cacheon.cli", *words]
    done = subprocess.run(
        command,
        env=dict(os.environ, PYTHONPATH=str(SOURCES), OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_its_lines_are_printed_as_failures(name: str) -> None:
    printed = verified(name, "text").splitlines()
    for line in FOUND[name]:
        assert any(f"FAIL kernels/silu_and_mul.py:{line} CG905 " in row for row in printed)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_its_lines_are_in_the_json(name: str) -> None:
    (bundle,) = json.loads(verified(name, "json"))["bundles"]
    scanned = [(row["file"], row["line"]) for row in bundle["scanned"] if row["rule"] == "CG905"]
    assert scanned == [("kernels/silu_and_mul.py", line) for line in FOUND[name]]
