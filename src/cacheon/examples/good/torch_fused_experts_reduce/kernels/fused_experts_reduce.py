import torch
import torch.distributed as dist
from torch.nn.functional import silu

Prepared = tuple[torch.Tensor, torch.Tensor]


def prepare(w13: torch.Tensor, w2: torch.Tensor) -> Prepared:
    """This rank's w13 (E, 2I, H) gate then up, w2 (E, H, I) → transposed, in float32.

    Called once for each layer when weights are loaded, never under capture.
    """
    return w13.float().transpose(1, 2), w2.float().transpose(1, 2)


def fused_experts_reduce(
    x: torch.Tensor,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    prepared: Prepared,
    out: torch.Tensor,
    group: dist.ProcessGroup,
) -> None:
    """x (M, H), topk_ids int32 (M, K), topk_weights float32 (M, K), the same on every rank
    → out (M, H), the sum over the ranks.

    Every expert computes every row, and a row that did not choose it weighs nothing:
    gathering only the rows that did would have a shape that depends on the routing.
    """
    w13, w2 = prepared
    experts = w13.shape[0]
    share = torch.zeros((x.shape[0], experts), device=x.device)
    share.scatter_add_(1, topk_ids.long(), topk_weights)
    gate, up = (x.float() @ w13).chunk(2, dim=-1)  # each (E, M, I)
    answers = (silu(gate) * up) @ w2  # (E, M, H)
    total = torch.einsum("me,emh->mh", share, answers)
    dist.all_reduce(total, group=group)
    out.copy_(total)
