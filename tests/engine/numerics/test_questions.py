"""What is asked together is told apart again."""

import math

import pytest
import torch

from cacheon.engine.grader.questions import Question, Told, ask


def question(*wanted: torch.Tensor) -> Question[Told]:
    told = yield wanted
    return told


def test_each_is_told_what_it_asked_for() -> None:
    flags, numbers = torch.tensor([True, False]), torch.tensor([[0.5], [math.inf]]).double()
    told = ask([question(numbers, flags), question(), question(flags[1:], flags, numbers[0])])
    assert told == [[[0.5, math.inf], [1.0, 0.0]], [], [[0.0], [1.0, 0.0], [0.5]]]
    assert ask([]) == []
    assert ask([question(flags)]) == [[[1.0, 0.0]]]


def test_large_counts_arrive_exactly() -> None:
    count = torch.tensor([2.0**53 - 1], dtype=torch.float64)
    assert ask([question(count)]) == [[[2.0**53 - 1]]]


def test_a_question_asks_once() -> None:
    def twice() -> Question[None]:
        yield []
        yield []

    with pytest.raises(RuntimeError, match="once"):
        ask([twice()])
