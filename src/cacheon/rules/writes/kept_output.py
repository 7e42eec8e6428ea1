"""CG205: write to an output of an earlier call."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG205",
    title="write to an output of an earlier call",
    group="writes",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "The call wrote into an output that was handed over in another call, usually the "
        "first. A cached pointer, a cached descriptor or a kept tensor was used instead of "
        "the argument; with CUDA graphs several captures live at once, and one overwrites "
        "the other's answer."
    ),
    remedy=(
        "Do not keep `out`, or anything made of its address, between calls. Build tensor "
        "descriptors from the current arguments, or key their cache by `data_ptr()`, shape "
        "and strides together."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_OUTPUTS: dict[torch.Size, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    _OUTPUTS.setdefault(out.shape, out).copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
