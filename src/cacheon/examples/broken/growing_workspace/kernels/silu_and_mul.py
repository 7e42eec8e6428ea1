import torch
from torch.nn.functional import silu

_WORKSPACE: dict[torch.device, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d)."""
    gate, up = x.float().chunk(2, dim=-1)
    need = out.numel()
    if x.device not in _WORKSPACE or _WORKSPACE[x.device].numel() < need:
        _WORKSPACE[x.device] = torch.empty(need, device=x.device)
    gated = _WORKSPACE[x.device][:need].view(out.shape)
    gated.copy_(silu(gate))
    out.copy_(gated * up)
