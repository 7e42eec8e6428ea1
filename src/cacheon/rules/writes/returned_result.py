"""CG206: result returned instead of written."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG206",
    title="result returned instead of written",
    group="writes",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager",),
    why=(
        "The entry returned a tensor and left the supplied output alone. The caller ignores "
        "return values: a graph can only be read at the addresses it was captured with."
    ),
    remedy=(
        "End with `out.copy_(result)`, or better, compute straight into `out`, and return nothing."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    gate, up = x.float().chunk(2, dim=-1)
    return (silu(gate) * up).to(out.dtype)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
