"""CG303: answer lags behind its replay."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG303",
    title="answer lags behind its replay",
    group="staleness",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("replay",),
    why=(
        "The output matched the inputs of an earlier replay, not of this one: results are "
        "staged in a buffer and published by the next call, or double-buffering is off by "
        "one."
    ),
    remedy=(
        "Make each call produce its own answer before it ends on the caller's stream. If "
        "you pipeline, join the producing work to the caller's stream within the same call."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_LAST: dict[torch.Size, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    answer = silu(gate) * up
    last = _LAST.setdefault(out.shape, torch.zeros_like(answer))
    out.copy_(last)
    last.copy_(answer)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
