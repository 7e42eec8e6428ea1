import torch
from torch.nn.functional import silu

Prepared = tuple[torch.Tensor, torch.Tensor]
TILE = 512


def prepare(w13: torch.Tensor, w2: torch.Tensor) -> Prepared:
    """w13 (E, 2I, H), w2 (E, H, I) → the same, transposed, in float32."""
    if w2.shape[2] % TILE:
        raise ValueError(f"intermediate width {w2.shape[2]} is no multiple of {TILE}")
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
    share = torch.zeros((x.shape[0], w13.shape[0]), device=x.device)
    share.scatter_add_(1, topk_ids.long(), topk_weights)
    gate, up = (x.float() @ w13).chunk(2, dim=-1)
    out.copy_(torch.einsum("me,emh->mh", share, (silu(gate) * up) @ w2))
