import ctypes

import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    ctypes.memset(0, 0, out.nbytes)
