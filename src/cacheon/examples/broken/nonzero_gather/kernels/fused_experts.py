import torch
from torch.nn.functional import silu

Prepared = tuple[torch.Tensor, torch.Tensor]


def prepare(w13: torch.Tensor, w2: torch.Tensor) -> Prepared:
    """w13 (E, 2I, H), w2 (E, H, I) → the same, transposed, in float32."""
    return w13.float().transpose(1, 2), w2.float().transpose(1, 2)


def fused_experts(
    x: torch.Tensor,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    prepared: Prepared,
    out: torch.Tensor,
) -> None:
    """x (M, H), topk_ids int32 (M, K), topk_weights float32 (M, K) → out (M, H)."""
    w13, w2 = prepared
    answer = torch.zeros(out.shape, device=x.device)
    for expert in range(w13.shape[0]):
        rows, choices = (topk_ids == expert).nonzero(as_tuple=True)
        gate, up = (x[rows].float() @ w13[expert]).chunk(2, dim=-1)
        weights = topk_weights[rows, choices].unsqueeze(1)
        answer.index_add_(0, rows, (silu(gate) * up) @ w2[expert] * weights)
    out.copy_(answer)
