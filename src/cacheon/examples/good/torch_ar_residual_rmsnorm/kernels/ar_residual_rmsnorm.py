import torch
import torch.distributed as dist


def ar_residual_rmsnorm(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float,
    out_norm: torch.Tensor,
    out_residual: torch.Tensor,
    group: dist.ProcessGroup,
) -> None:
    """x (M, H) by rank, residual (M, H), weight (H) → out_residual = sum + residual and
    out_norm = its rmsnorm, both (M, H)."""
    total = x.to(torch.float32, copy=True)
    dist.all_reduce(total, group=group)
    total += residual
    out_residual.copy_(total)
    scale = torch.rsqrt(total.square().mean(-1, keepdim=True) + eps)
    out_norm.copy_(total * scale * weight)
