"""CG805: no case applies."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG805",
    title="no case applies",
    group="declarations",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("load",),
    why=(
        "The variant's domain admits none of the calls of this run, so nothing was shown "
        "about it. A fallback that is always taken earns nothing."
    ),
    remedy=(
        "The row says which field does not fit. Check spelling and units of the "
        "capabilities; a predicate on a field that this slot's calls do not have never "
        "matches. Facts that only an arena knows can be stated: `--context model=NAME`."
    ),
    unscanned="the domain stands in the metadata, and the calls in the run's options",
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
