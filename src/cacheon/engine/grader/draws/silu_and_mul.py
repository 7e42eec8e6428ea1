"""Draws for activation.silu_and_mul: normal values, zeros of both signs, some of about ±30,
and some for which a careless exponential overflows."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

LARGE_STRIDE = 127
LARGE = 8.0
HUGE_STRIDE = 509
HUGE = 100.0
"""e^100 is more than float32 holds; the answer itself stays below 10,000."""


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """x (T, 2d). There is no length and no routing: `extreme` changes nothing."""
    spec = case.tensor("x")
    source = Source.of(key, device)
    x = source.normal("x", spec.shape, ELEMENT_TYPES[spec.dtype])
    x.view(-1)[source.pick("large", LARGE_STRIDE) :: LARGE_STRIDE].mul_(LARGE)
    huge = x.view(-1)[source.pick("huge", HUGE_STRIDE) :: HUGE_STRIDE]
    huge.copy_(huge.sign().mul_(HUGE))
    source.scatter_zeros("x", x)
    # The smallest cases may have none in a gate, or only negative ones.
    width = spec.shape[1] // 2
    row, column = divmod(source.pick("certain", spec.shape[0] * width), width)
    x[row, column].fill_(HUGE)  # assigned, it would be carried from the host
    return {"x": x}
