"""CG903: the worker's answer was not understood."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG903",
    title="the worker's answer was not understood",
    group="hostility",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("eager", "capture", "replay"),
    why=(
        "Bytes came over the worker's channel that are no answer to the command. Something "
        "in the candidate writes to descriptors that are not its own, or answers in place "
        "of the examination."
    ),
    remedy=(
        "Write only to standard output and error, or to files that you opened. Do not "
        "close, duplicate or scan file descriptors."
    ),
    unscanned="which descriptors are whose is known in the process",
    bad="""\
import os

import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.mul(*x.chunk(2, dim=-1), out=out)
    os.write(3, b"done")
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
