"""CG302: memory captured by address was freed or replaced."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG302",
    title="memory captured by address was freed or replaced",
    group="staleness",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("perturb", "replay", "soak"),
    why=(
        "A graph replays addresses. A workspace or constant that the entry used at capture "
        "was freed, resized or rebound later (a larger shape came, a cache evicted it, "
        "garbage was collected), and the replay reads or writes memory that belongs to "
        "somebody else."
    ),
    remedy=(
        "Never replace a buffer that a captured call used: allocate the largest size once, "
        "or keep every buffer ever handed out (a list, or one for each size) for as long as "
        "the process lives. Or allocate scratch inside the entry with `torch.empty`: under "
        "capture it comes from the graph's own pool and stays."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_SPACE: dict[torch.device, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    need = out.numel()
    if x.device not in _SPACE or _SPACE[x.device].numel() < need:
        _SPACE[x.device] = torch.empty(need, device=x.device)
    gated = _SPACE[x.device][:need].view(out.shape)
    gated.copy_(silu(gate))
    out.copy_(gated * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    gated = torch.empty(out.shape, device=x.device)
    gated.copy_(silu(gate))
    out.copy_(gated * up)
""",
)
