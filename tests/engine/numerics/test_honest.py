"""No draw and no bound fails an honest implementation of any precision."""

import pytest
import torch

from cacheon.contract.slots import SLOTS
from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.draws import Extreme

from .candidates import CANDIDATES
from .cases import DEVICES, DTYPES, NAMES, drawn, expected, published_cases, small_cases

SEEDS = 21
EXTREMES: tuple[Extreme, ...] = ("any", "minimal", "maximal")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_honest_implementations_pass_every_draw(name: str, dtype: str, device: str) -> None:
    slot = SLOTS[name]
    runs = [(case, seed, seed) for seed in range(SEEDS) for case in small_cases(name, dtype, seed)]
    runs += [(case, 99, turn) for case in published_cases(name, dtype, device) for turn in (0, 1)]
    for case, seed, turn in runs:
        inputs = drawn(case, seed, turn, EXTREMES[seed % 3], device=device)
        right = expected(case, inputs)
        with torch.device(device):
            answers = torch.stack([f(inputs, case) for f in CANDIDATES[name].honest.values()])
        found, _ = measure(slot, case, right.expand(answers.shape), answers)
        for who, one in zip(CANDIDATES[name].honest, found, strict=True):
            assert one.ok, (who, case.label, dtype, seed, turn, one.reason)


@pytest.mark.parametrize("name", NAMES)
def test_plain_float32_stays_far_inside_the_bounds(name: str) -> None:
    """What is drawn must leave room: a bound that a plain implementation only just keeps
    would fail somebody's honest one sooner or later."""
    for case in small_cases(name, "float32", 5):
        inputs = drawn(case, 5, 0)
        answer = CANDIDATES[name].honest["exact"](inputs, case)
        (found,), _ = measure(SLOTS[name], case, expected(case, inputs)[None], answer[None])
        assert found.max_relative <= 1e-5, case.label
