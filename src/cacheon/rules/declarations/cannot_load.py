"""CG806: source cannot be loaded."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG806",
    title="source cannot be loaded",
    group="declarations",
    confidence="medium",
    detected=("scan", "rehearsal", "cuda"),
    stages=("load",),
    why=(
        "Importing the source raised, or the module has no such entry. Imports run once, in "
        "a fresh process, from a private copy of the bundle."
    ),
    remedy=(
        "Ship every module that you import, or use what torch and Triton provide; use paths "
        "relative to `__file__`; do not read the environment or the network at import. "
        "`python -c 'import ...'` in an empty directory shows the same error."
    ),
    bad="""\
import torch
from in_house_kernels import fast_silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(fast_silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
