"""CG803: NaN or infinity where none is allowed."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG803",
    title="NaN or infinity where none is allowed",
    group="declarations",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "The output holds a value that is not finite. Inputs are finite, with logits up to "
        "30 and rows scaled by 1e-3 and 1e3, as real models have them."
    ),
    remedy=(
        "Subtract the row's maximum before `exp`; accumulate squares and sums in float32; "
        "guard 0/0 where a row sees no key or an expert no row. In block scores use -inf "
        "for invisible blocks, never NaN or +inf."
    ),
    unscanned="overflow is a matter of values",
    bad="""\
import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    rising = torch.exp(gate)
    out.copy_(gate * rising / (1.0 + rising) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
