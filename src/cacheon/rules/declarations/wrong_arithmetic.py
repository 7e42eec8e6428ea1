"""CG802: arithmetic differs from the slot's contract."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG802",
    title="arithmetic differs from the slot's contract",
    group="declarations",
    confidence="medium",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "More elements are out of tolerance than the slot allows, compared with a float64 "
        "or float32 reference. This is ordinary wrong arithmetic, no graph problem."
    ),
    remedy=(
        "Accumulate in float32 whatever the tensors' dtype, and round once at the end. "
        "Check eps, scale and mask (is the last key visible, the next one not?), and the "
        "order of halves (gate, then up). `-v` shows the worst cell; try `--dtype float32` "
        "to tell rounding from a mistake."
    ),
    slot="norm.rmsnorm",
    bad="""\
import torch


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, eps: float) -> None:
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True))
    out.copy_(wide * scale * weight.float())
""",
    good="""\
import torch


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, eps: float) -> None:
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    out.copy_(wide * scale * weight.float())
""",
)
