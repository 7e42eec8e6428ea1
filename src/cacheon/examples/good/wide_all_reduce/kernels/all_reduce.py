import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    """x (M, H), another on every rank → out (M, H), the sum on each.

    The wide copy is new in every call: under capture it comes from the graph's own pool.
    """
    wide = x.to(torch.float32, copy=True)
    dist.all_reduce(wide, group=group)
    out.copy_(wide)
