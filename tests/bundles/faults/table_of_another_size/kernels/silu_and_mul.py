import torch
from torch.nn.functional import silu

_FULL = 64
_TABLE: dict[torch.device, torch.Tensor] = {}
_SIZE: dict[torch.device, int] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d). Batches that are not full are scaled by a table."""
    tokens = x.shape[0]
    gate, up = x.float().chunk(2, dim=-1)
    if tokens == _FULL:
        out.copy_(silu(gate) * up)
        return
    if x.device not in _TABLE:
        _TABLE[x.device] = torch.ones((), device=x.device)
    if _SIZE.get(x.device) != tokens:
        _SIZE[x.device] = tokens
        _TABLE[x.device].fill_(tokens)
    out.copy_(silu(gate) * up * _TABLE[x.device] / tokens)
