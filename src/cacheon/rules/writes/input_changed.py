"""CG202: input changed."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG202",
    title="input changed",
    group="writes",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "An input held other values after the call. Other layers and later steps read the "
        "same buffers, so they compute with data that nobody meant to give them."
    ),
    remedy=(
        "Use out-of-place operations on inputs (`x * s` instead of `x.mul_(s)`), or copy "
        "into scratch first. Look for in-place variants, `out=` arguments that name an "
        "input, and kernels whose store pointer is an input's."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.chunk(2, dim=-1)
    torch.mul(silu(gate, inplace=True), up, out=out)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.chunk(2, dim=-1)
    torch.mul(silu(gate), up, out=out)
""",
)
