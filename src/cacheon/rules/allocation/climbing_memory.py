"""CG504: device memory climbs."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG504",
    title="device memory climbs",
    group="allocation",
    confidence="high",
    detected=("scan", "cuda"),
    stages=("eager", "soak"),
    why=(
        "Memory in use grew steadily with calls, replays or captures, more than the plain "
        "torch implementation of the slot does. A server runs out of memory after hours."
    ),
    remedy=(
        "Look for lists and dictionaries that gain an entry with each call (keyed by "
        "address, by value or by a counter), for handles that are opened and never closed, "
        "and for workspaces that are kept for each capture. Bound them, or key them by "
        "shape."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_HISTORY: list[torch.Tensor] = []


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    _HISTORY.append(silu(gate) * up)
    out.copy_(_HISTORY[-1])
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
