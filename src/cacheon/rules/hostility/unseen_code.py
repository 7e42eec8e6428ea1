"""CG907: code that is not in the source."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG907",
    title="code that is not in the source",
    group="hostility",
    confidence="high",
    detected=("scan",),
    stages=("load",),
    why=(
        "The source runs code that only exists at run time (`exec`, `eval`, an import by a "
        "made-up name, a foreign library). Nobody who reads the bundle can know what it "
        "does, and its lines cannot be blamed."
    ),
    remedy=(
        "Write the code out, or generate it before you submit. Import by name: the bundle's "
        "root and the directory of the row's source are on the path. Specialise kernels by "
        "`tl.constexpr` rather than by text."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_SOURCE = "def gated(gate, up): return silu(gate) * up"
exec(_SOURCE)


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    found = globals()["gated"]
    out.copy_(found(gate, up))
""",
    good="""\
import torch
from torch.nn.functional import silu


def gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return silu(gate) * up


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(gated(gate, up))
""",
)
