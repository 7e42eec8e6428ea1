"""The reference of a collective: what each rank contributes, and what is made of the sum.

Apart from each other they also say what a wrong answer is right for: the sum without one
rank, with one twice, or with what one contributed to an earlier call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from cacheon.contract.case import Case

Inputs = Mapping[str, torch.Tensor]
Scalars = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class OverRanks:
    """`contributions`: (ranks, *shape) in float64 or float32 of drawn inputs whose
    rank-varying tensors have their ranks first. `whole`: of a sum over them, (*shape), and
    the replicated inputs, every output; the same on every rank."""

    contributions: Callable[[Inputs, Scalars, Case], torch.Tensor]
    whole: Callable[[torch.Tensor, Inputs, Scalars, Case], dict[str, torch.Tensor]]

    def __call__(self, inputs: Inputs, scalars: Scalars, case: Case) -> dict[str, torch.Tensor]:
        total = self.contributions(inputs, scalars, case).sum(0)
        return self.whole(total, inputs, scalars, case)
