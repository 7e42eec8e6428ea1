"""What the host asks of a device: together, where it can.

A transfer takes as long for one number as for a hundred, and on a GPU that other processes use
it waits for its turn besides.
"""

from collections.abc import Generator, Sequence
from typing import TypeAlias, TypeVar

import torch

T = TypeVar("T")
Told: TypeAlias = list[list[float]]
"""For each tensor that was asked for its elements, in order; of flags 0.0 and 1.0."""
Question: TypeAlias = Generator[Sequence[torch.Tensor], Told, T]
"""Yields once, the tensors (bool, or float64) that it asks for, all questions' on one device;
is sent what they hold, and returns its conclusion."""


def ask(questions: Sequence[Question[T]]) -> list[T]:
    """The conclusion of each, after one transfer for all of them."""
    wanted = [list(next(question)) for question in questions]
    told = iter(_transfer([tensor for some in wanted for tensor in some]))
    conclusions = []
    for question, some in zip(questions, wanted, strict=True):
        try:
            question.send([next(told) for _ in some])
        except StopIteration as concluded:
            conclusions.append(concluded.value)
        else:
            raise RuntimeError("a question asks once")
    return conclusions


def _transfer(tensors: Sequence[torch.Tensor]) -> Told:
    """Flags travel as flags until they are laid beside numbers: one conversion for all."""
    flags = [tensor.reshape(-1) for tensor in tensors if tensor.dtype == torch.bool]
    numbers = [tensor.reshape(-1) for tensor in tensors if tensor.dtype != torch.bool]
    if flags:
        numbers.append(torch.cat(flags).double())
    flat = iter(torch.cat(numbers).tolist() if numbers else [])
    of_numbers = [
        [next(flat) for _ in range(tensor.numel())]
        for tensor in tensors
        if tensor.dtype != torch.bool
    ]
    told = iter(of_numbers)
    return [
        [next(flat) for _ in range(tensor.numel())] if tensor.dtype == torch.bool else next(told)
        for tensor in tensors
    ]
