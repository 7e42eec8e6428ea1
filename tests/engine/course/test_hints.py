"""A line that waits for the device is hinted at where no capture comes to it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import failures, rows, verify

READS_AND_WRITES_NOTHING = """import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    peak = x.amax().item()
    if (x > peak).any():
        out.zero_()
"""
READS_TWICE = """import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    one = float(up.amax()) * 0 + 1
    two = float(gate.amax()) * 0 + 1
    out.copy_(silu(gate) * up * one * two)
"""


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def verified(root: Path, source: str, device: str, *arguments: str) -> dict[str, Any]:
    shutil.copytree(EXAMPLES / "broken" / "item_read", root, dirs_exist_ok=True)
    (root / "kernels" / "silu_and_mul.py").write_text(source)
    document = verify(root, device=device, arguments=arguments)
    bundle: dict[str, Any] = document["bundles"][0]
    return bundle


def hinted(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Line and rule of each hint."""
    hints = [hint.partition(" ")[0] for hint in row["hints"]]
    return [
        (place.rpartition(":")[2], hint.rpartition("(")[2].rstrip(")"))
        for place, hint in zip(hints, row["hints"], strict=True)
    ]


def test_an_eager_failure_hides_no_wait(tmp_path: Path, device: str) -> None:
    bundle = verified(tmp_path, READS_AND_WRITES_NOTHING, device)
    assert failures(bundle)
    for row in failures(bundle):
        assert row["failure"] == "eager"
        assert hinted(row) == [("5", "CG101"), ("6", "CG103")]


def test_a_failed_capture_names_one_line_and_hints_at_the_next(tmp_path: Path, device: str) -> None:
    bundle = verified(tmp_path, READS_TWICE, device)
    assert failures(bundle)
    for row in failures(bundle):
        finding = row["findings"][0]
        assert (row["failure"], finding["rule"], finding["place"]["line"]) == (
            "capture",
            "CG101",
            7,
        )
        assert hinted(row) == [("8", "CG101")]


def test_a_captured_case_has_no_hint(device: str) -> None:
    bundle = verify(EXAMPLES / "good" / "torch_silu_and_mul", device=device)["bundles"][0]
    assert not any(row["hints"] for row in rows(bundle))
