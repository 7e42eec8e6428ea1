"""CG201: output not written at all."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG201",
    title="output not written at all",
    group="writes",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "Every element of the output still holds the poison that was put there before the "
        "call. The next layer would read the result of an earlier step as if it were this "
        "one's."
    ),
    remedy=(
        "Write into the tensor that the caller supplies: `out.copy_(result)`, an `out=` "
        "argument, or a kernel that is launched with `out`. Assigning `out = result` only "
        "rebinds a local name. If a kernel is launched, check its grid (an empty grid runs "
        "nothing) and its stream."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out = silu(gate) * up
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
