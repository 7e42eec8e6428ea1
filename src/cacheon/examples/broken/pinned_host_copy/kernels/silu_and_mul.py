import torch
from torch.nn.functional import silu

_SCALE: list[torch.Tensor] = []


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    if not _SCALE:
        _SCALE.append(torch.ones(1).pin_memory())
    gate, up = x.float().chunk(2, dim=-1)
    scale = _SCALE[0].to(x.device, non_blocking=True)
    out.copy_(silu(gate) * up * scale)
