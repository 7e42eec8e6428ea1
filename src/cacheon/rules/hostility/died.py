"""CG901: the candidate's process died by a signal."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG901",
    title="the candidate's process died by a signal",
    group="hostility",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("warmup", "eager", "capture", "replay"),
    why=(
        "The process ended in a crash (segmentation fault, illegal memory access that took "
        "the context down, out of memory). It happened twice, while the control lived."
    ),
    remedy=(
        "Run the case under `compute-sanitizer`, and native code under `gdb` or with "
        "`PYTHONFAULTHANDLER=1`. Usual causes: an index past the end, a pointer kept after "
        "its tensor, a host array passed where a device pointer is meant."
    ),
    unscanned="where a pointer leads is known when it is followed",
    bad="""\
import ctypes

import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    ctypes.memset(0, 0, out.nbytes)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
