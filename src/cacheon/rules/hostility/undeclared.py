"""CG910: file that nothing names."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG910",
    title="file that nothing names",
    group="hostility",
    severity="warning",
    confidence="high",
    detected=("scan",),
    stages=("load",),
    why=(
        "The bundle holds a source that no row declares and no import reaches. It is part "
        "of the bundle's identity, yet nobody can say what it is for; code that is loaded "
        "by other means hides there."
    ),
    remedy=(
        "Delete it, declare it (`cuda_sources` for CUDA files), or import it from the "
        "source of a row."
    ),
    files={"kernels/gating.py": "from torch.nn.functional import silu as gated\n"},
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from gating import gated


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(gated(gate) * up)
""",
)
