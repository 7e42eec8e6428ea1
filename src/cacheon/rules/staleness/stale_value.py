"""CG301: output does not follow a live input."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG301",
    title="output does not follow a live input",
    group="staleness",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "After an input's values changed, the output still belonged to the old ones. "
        "Something that depends on values was computed once and kept: at the first call, in "
        "warm-up, or on the host while the graph was captured."
    ),
    remedy=(
        "Recompute in the entry, on the device, everything that depends on values: lengths, "
        "routing, scales, maxima. Caches may be keyed by shape, dtype and device; keyed by "
        "address they must hold nothing that was derived from contents."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_SCALE: dict[torch.Size, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    if x.shape not in _SCALE:
        _SCALE[x.shape] = up.abs().amax()
    scale = _SCALE[x.shape]
    out.copy_(silu(gate) * (up / scale) * scale)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    scale = up.abs().amax()
    out.copy_(silu(gate) * (up / scale) * scale)
""",
)
