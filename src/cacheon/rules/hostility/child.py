"""CG904: descendant left behind."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG904",
    title="descendant left behind",
    group="hostility",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("load", "eager"),
    why=(
        "The candidate started a process that outlived it or left its session. It could "
        "compute answers outside the graph, or disturb what is measured next."
    ),
    remedy=(
        "Start no processes in the entry. Compilers that you start at load time must have "
        "ended when the call returns: wait for them, and use no daemon pools."
    ),
    bad="""\
import subprocess

import torch
from torch.nn.functional import silu

_WATCHER = subprocess.Popen(["sleep", "3600"])


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
