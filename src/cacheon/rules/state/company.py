"""CG702: wrong only beside other captured cases."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG702",
    title="wrong only beside other captured cases",
    group="state",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("replay",),
    why=(
        "Alone the case passes; with other shapes captured in the same process it fails. "
        "The captures share something: a workspace sized for another shape, a cache whose "
        "key lacks a dimension, a flag buffer laid out by message size."
    ),
    remedy=(
        "Put every dimension, stride and dtype that matters into the cache's key. Give each "
        "shape its own scratch, or lay out shared scratch for the largest shape, "
        "identically for all. Reproduce with `--case` naming the two cases together."
    ),
    unscanned="which sizes meet in one process is known when cases run together",
    bad="""\
import torch
from torch.nn.functional import silu

_SPACE: dict[torch.device, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    space = _SPACE.setdefault(x.device, torch.empty_like(gate))
    torch.mul(silu(gate), up, out=space[: gate.shape[0]])
    out.copy_(space[: gate.shape[0]])
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
