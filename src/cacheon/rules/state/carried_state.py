"""CG701: state carried from one replay to the next."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG701",
    title="state carried from one replay to the next",
    group="state",
    confidence="medium",
    detected=("scan", "rehearsal", "cuda"),
    stages=("replay", "soak"),
    why=(
        "The first replays were right and later ones wrong: an accumulator is not cleared "
        "within the graph, a counter or ring overflows, a flag is consumed once, a random "
        "offset stands still. Python that resets it eagerly does not run at replay."
    ),
    remedy=(
        "Clear scratch inside the captured work, in every call (`buf.zero_()`, or the "
        "kernel's first block), not when Python happens to run. Semaphores must return to "
        "their initial value before the call ends; rings must not assume how often they are "
        "used."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_EPOCH: dict[torch.device, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.device not in _EPOCH:
        _EPOCH[x.device] = torch.zeros((), dtype=torch.int32, device=x.device)
    epoch = _EPOCH[x.device]
    epoch.add_(1)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up * (epoch < 100))
""",
    good="""\
import torch
from torch.nn.functional import silu

_EPOCH: dict[torch.device, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.device not in _EPOCH:
        _EPOCH[x.device] = torch.zeros((), dtype=torch.int32, device=x.device)
    epoch = _EPOCH[x.device]
    epoch.zero_()
    epoch.add_(1)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up * (epoch < 100))
""",
)
