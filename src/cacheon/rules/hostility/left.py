"""CG902: the candidate's process left."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG902",
    title="the candidate's process left",
    group="hostility",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("load", "warmup", "eager", "capture"),
    why=(
        "The process ended by `exit`, `os._exit` or the end of its main thread while it was "
        "being examined. Leaving is no way to have no verdict."
    ),
    remedy=(
        "Raise an exception instead of exiting, and remove clean-up code that ends the "
        "process. An assert in a C++ extension that calls `abort` or `exit` counts as well."
    ),
    bad="""\
import os

import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    os._exit(0)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.dim() != 2:
        raise ValueError(f"x has {x.dim()} dimensions")
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
