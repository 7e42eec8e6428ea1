"""CG503: allocation inside the graph."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG503",
    title="allocation inside the graph",
    group="allocation",
    confidence="high",
    detected=("scan", "cuda"),
    stages=("capture",),
    why=(
        "The graph has an allocation node, or the driver was asked for memory while "
        "capturing (`cudaMalloc`, `cudaMallocAsync`, a library's own workspace). It is "
        "either illegal or costs a map at every replay, and its address is not what other "
        "captured work expects."
    ),
    remedy=(
        "Allocate through torch (`torch.empty` in the entry is served from the graph's "
        "pool), or once before capture. Give libraries a workspace that you own, sized for "
        "the largest shape."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.empty(1, pin_memory=True)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.empty(1, device=x.device)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
