"""One rank takes the largest where the other sums: both come back, with answers of their own."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    operation = dist.ReduceOp.SUM if dist.get_rank(group) == 0 else dist.ReduceOp.MAX
    dist.all_reduce(out, op=operation, group=group)
