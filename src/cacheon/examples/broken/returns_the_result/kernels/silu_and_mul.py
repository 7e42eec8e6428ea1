import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """x (T, 2d) → out (T, d)."""
    gate, up = x.float().chunk(2, dim=-1)
    return (silu(gate) * up).to(out.dtype)
