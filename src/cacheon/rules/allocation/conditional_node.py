"""CG506: conditional node in the graph."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG506",
    title="conditional node in the graph",
    group="allocation",
    confidence="high",
    detected=("cuda",),
    stages=("capture",),
    why=(
        "The graph holds a conditional or child graph whose path depends on device values. "
        "What a replay executes is then not what was captured and looked into, and evidence "
        "for one path says nothing about the other."
    ),
    remedy=(
        "Branch inside a kernel, or compute both sides and select. If the algorithms differ "
        "by shape, declare disjoint variants with capability domains."
    ),
    unscanned=(
        "what a conditional becomes is decided by torch's release; the graph's nodes are looked at"
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)

    def some() -> torch.Tensor:
        return silu(gate) * up

    def none() -> torch.Tensor:
        return torch.zeros_like(gate)

    out.copy_(torch.cond(gate.any(), some, none))
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
