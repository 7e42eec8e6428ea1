import torch
from torch.nn.functional import silu

_OUTPUTS: dict[torch.Size, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    gate, up = x.float().chunk(2, dim=-1)
    _OUTPUTS.setdefault(out.shape, out).copy_(silu(gate) * up)
