"""CG103: shape or Python branch that depends on a live tensor."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG103",
    title="shape or Python branch that depends on a live tensor",
    group="synchronization",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "`if tensor:`, `assert tensor`, boolean-mask indexing, `nonzero`, `unique`, slices "
        "with tensor bounds and `repeat_interleave` with a tensor of counts need the values "
        "on the host to choose a path or a size. A graph holds one path and one size, "
        "whatever the values are at replay."
    ),
    remedy=(
        "Compute both sides and select with `torch.where`, or branch inside the kernel on "
        "the loaded value. Replace mask indexing by masked arithmetic over the full shape, "
        "and give `repeat_interleave` its `output_size` and an integer count. Branch in "
        "Python on shapes only, or declare disjoint variants."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    if (gate < 0).any():
        out.copy_(silu(gate) * up)
    else:
        out.copy_(gate * torch.sigmoid(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    negative = silu(gate) * up
    out.copy_(torch.where(gate < 0, negative, gate * torch.sigmoid(gate) * up))
""",
)
