import torch
from torch.nn.functional import silu

_SEEN: dict[torch.Size, list[torch.Tensor]] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    gate, up = x.float().chunk(2, dim=-1)
    seen = _SEEN.setdefault(x.shape, [])
    seen.append(x)
    scratch = seen[-2] if len(seen) > 1 and seen[-2].data_ptr() != x.data_ptr() else out
    half = scratch[:, : out.shape[1]]
    half.copy_(silu(gate) * up)
    out.copy_(half)
