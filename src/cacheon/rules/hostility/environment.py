"""CG909: environment read."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG909",
    title="environment read",
    group="hostility",
    severity="warning",
    confidence="high",
    detected=("scan",),
    stages=("load",),
    why=(
        "What the kernel does hangs on variables of the machine, which are no part of the "
        "bundle's identity: what one observer sees, another may not, and a server may run "
        "something else."
    ),
    remedy=(
        "Decide by what the call brings: shapes, dtype, the device's properties. Tunables "
        "that you settled belong in the source as constants; two behaviours are two "
        "variants."
    ),
    bad="""\
import os

import torch
from torch.nn.functional import silu

_FAST = os.environ.get("FAST") == "1"


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up if _FAST else up * silu(gate))
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
