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
    """x (M, H) by rank, residual (M, H), weight (H) → out_residual, out_norm (M, H)."""
    total = x.float() + residual
    dist.all_reduce(total, group=group)
    out_residual.copy_(total)
    scale = torch.rsqrt(total.square().mean(-1, keepdim=True) + eps)
    out_norm.copy_(total * scale * weight)
