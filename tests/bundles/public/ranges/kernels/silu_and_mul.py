import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d): silu of the left half times the right half."""
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
