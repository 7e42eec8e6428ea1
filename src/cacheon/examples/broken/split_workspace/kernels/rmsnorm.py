import torch

FEW, MANY = 8, 256
LANES = 8
SPLITS = 1024
"""Of one row; enough for a width of 8,192."""

_WORKSPACE: dict[torch.device, torch.Tensor] = {}


def workspace(cells: int, device: torch.device) -> torch.Tensor:
    """float32 (cells): partial sums; replaced where more are needed than there are."""
    if device not in _WORKSPACE or _WORKSPACE[device].numel() < cells:
        _WORKSPACE[device] = torch.empty(cells, device=device)
    return _WORKSPACE[device][:cells]


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, eps: float) -> None:
    """x (T, H), weight (H) → out (T, H)."""
    tokens, width = x.shape
    squares = x.float().square()
    if tokens >= MANY:
        total = squares.sum(dim=-1, keepdim=True)
    elif tokens > FEW:
        total = workspace(tokens, x.device).view(tokens, 1)
        torch.sum(squares, dim=-1, keepdim=True, out=total)
    else:
        splits = width // LANES
        partial = workspace(FEW * SPLITS, x.device)[: tokens * splits].view(tokens, splits)
        torch.sum(squares.view(tokens, splits, LANES), dim=-1, out=partial)
        total = partial.sum(dim=-1, keepdim=True)
    out.copy_(x.float() * torch.rsqrt(total / width + eps) * weight.float())
