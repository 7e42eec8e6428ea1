"""By how many replays the answers of a burst are behind, told from the draws alone."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from cacheon.engine.grader import bursts
from cacheon.engine.grader.bursts import Bursts

BANK = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
"""The right answer of each draw."""


@pytest.fixture(autouse=True)
def _by_equality(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(_slot: Any, _case: Any, due: torch.Tensor, rows: torch.Tensor) -> Any:
        same = [bool(torch.equal(a, b)) for a, b in zip(due, rows, strict=True)]
        return [SimpleNamespace(ok=ok) for ok in same], None

    monkeypatch.setattr(bursts, "measure", measure)


def lag_of(picked: list[int], answers: list[float]) -> int:
    rows = torch.tensor(answers).unsqueeze(1)
    output = SimpleNamespace(tensor=SimpleNamespace(name="out"), cells=lambda rows: rows)
    rank = SimpleNamespace(collect=lambda: [SimpleNamespace(output=output, rows=rows)])
    buffers: Any = SimpleNamespace(ranks=[rank], case=None)
    bank: Any = SimpleNamespace(expected=[{"out": BANK}])
    walk: Any = SimpleNamespace(slot=None)
    return Bursts(walk)._lag(buffers, 0, bank, 0, picked)


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_answers_that_are_behind(lag: int) -> None:
    picked = [0, 1, 2, 3, 1, 3, 2, 0]
    late = [9.0] * lag + [float(BANK[n]) for n in picked[:-lag]]
    assert lag_of(picked, late) == lag


def test_one_wrong_answer_is_not_behind_where_the_draws_repeat() -> None:
    """The last three rows are those of the first three draws again, and right."""
    picked = [0, 1, 2, 3, 1, 0, 1, 2]
    answers = [float(BANK[n]) for n in picked]
    answers[3] = 0.0
    assert lag_of(picked, answers) == 0


def test_a_burst_too_short_to_tell() -> None:
    assert lag_of([0, 1, 2], [9.0, 1.0, 2.0]) == 0
