import torch
from torch.nn.functional import silu

_SEEN: dict[torch.Size, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    gate, up = x.float().chunk(2, dim=-1)
    scratch = _SEEN.get(x.shape)
    if scratch is None or scratch.data_ptr() == x.data_ptr():
        scratch = torch.empty_like(x)
    _SEEN[x.shape] = x
    half = scratch[:, : out.shape[1]]
    half.copy_(silu(gate) * up)
    out.copy_(half)
