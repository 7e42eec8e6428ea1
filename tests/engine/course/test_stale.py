"""Answers that are right for what an earlier call was given, and what is said of them."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import brief, failures, verify

FROZEN_LENGTHS = """
import torch
from kernels.plain import decode as plain

_LENGTHS = {}


def decode(q, k, v, seq_lens, sm_scale, out):
    lengths = _LENGTHS.setdefault(q.shape, seq_lens.clone())
    plain(q, k, v, lengths, sm_scale, out)
"""
FIRST_LAYER_ONLY = """
import torch
from kernels.plain import rmsnorm as plain

_FIRST = {}


def rmsnorm(x, weight, out, eps):
    if torch.cuda.is_current_stream_capturing():
        weight = _FIRST.setdefault(x.shape, weight)
    plain(x, weight, out, eps)
"""
MADE = {
    "torch_decode": (FROZEN_LENGTHS, "eager", "what `seq_lens` was in an earlier call"),
    "torch_rmsnorm": (FIRST_LAYER_ONLY, "replay", "layer 0's weights"),
}


def made(name: str, source: str, directory: Path) -> Path:
    """A good example whose entry is called through another."""
    bundle = directory / name
    shutil.copytree(EXAMPLES / "good" / name, bundle)
    (kernel,) = (bundle / "kernels").glob("*.py")
    plain = kernel.with_name("plain.py")
    kernel.rename(plain)
    kernel.write_text(source)
    return bundle


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("stale")
    bundles = [made(name, source, directory) for name, (source, _, _) in MADE.items()]
    return dict(zip(MADE, verify(*bundles, device="cpu")["bundles"], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_it_is_said_what_the_answer_follows_instead(name: str, seen: dict[str, Any]) -> None:
    _, stage, words = MADE[name]
    assert failures(seen[name]), brief(seen[name])
    for row in failures(seen[name]):
        (finding,) = row["findings"][:1]
        assert (finding["rule"], finding["stage"]) == ("CG301", stage), brief(seen[name])
        assert finding["message"].endswith(f"it is the right answer for {words}")
