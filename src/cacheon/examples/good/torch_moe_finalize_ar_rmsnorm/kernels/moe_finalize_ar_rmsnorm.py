import torch
import torch.distributed as dist


def moe_finalize_ar_rmsnorm(
    gemm_out: torch.Tensor,
    row_map: torch.Tensor,
    scales: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float,
    out_norm: torch.Tensor,
    out_residual: torch.Tensor,
    group: dist.ProcessGroup,
) -> None:
    """gemm_out (Te·K, H) by rank, row_map int32 (Te·K), scales float32 (Te, K), residual
    (T, H), weight (H) → out_residual, out_norm (T, H).

    Expert k of token t put its row at row_map[k·Te + t]; the tokens from T on are padding.
    """
    expanded, choices = scales.shape
    tokens = residual.shape[0]
    rows = row_map.view(choices, expanded)[:, :tokens].long()  # (K, T)
    chosen = gemm_out[rows].float()  # (K, T, H)
    total = torch.einsum("kth,tk->th", chosen, scales[:tokens])
    dist.all_reduce(total, group=group)
    total += residual
    out_residual.copy_(total)
    scale = torch.rsqrt(total.square().mean(-1, keepdim=True) + eps)
    out_norm.copy_(total * scale * weight)
