"""CG703: random numbers that a graph repeats."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG703",
    title="random numbers that a graph repeats",
    group="state",
    confidence="medium",
    detected=("scan",),
    stages=("replay",),
    why=(
        "A capture advances only the random state that it knows: torch's own generator of "
        "the device. A number that the host draws, a seed that Python sets or a generator "
        "of the candidate's own is frozen, and every replay uses the same one."
    ),
    remedy=(
        "Draw with torch's functions and the default generator of the device, inside the "
        "entry. Pass seeds and offsets of a Triton kernel as tensors that the captured work "
        "itself advances."
    ),
    bad="""\
import random

import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    keep = torch.rand_like(gate) < random.random()
    out.copy_(silu(gate) * up * keep)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    keep = torch.rand_like(gate) < torch.rand((), device=x.device)
    out.copy_(silu(gate) * up * keep)
""",
)
