import torch
from torch.nn.functional import silu

_TUNED = False


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    while torch.cuda.is_current_stream_capturing() and not _TUNED:
        pass
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
