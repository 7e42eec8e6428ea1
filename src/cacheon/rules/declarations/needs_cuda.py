"""CG807: needs real CUDA."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG807",
    title="needs real CUDA",
    group="declarations",
    severity="note",
    confidence="high",
    detected=("rehearsal",),
    stages=("eager", "capture"),
    why=(
        "The candidate uses something that only a CUDA device has (inline CUDA, a compiled "
        "extension, a driver call), so a CPU can rehearse nothing here. This is advice, no "
        "failure."
    ),
    remedy=(
        "Run `cacheon verify --device cuda` on a machine with a GPU. If you want quick "
        "checks on a laptop too, take a plain torch path where `x.is_cuda` is false."
    ),
    unscanned="it is no fault: it says what a CPU cannot rehearse",
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_((silu(gate) * up).cuda())
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
