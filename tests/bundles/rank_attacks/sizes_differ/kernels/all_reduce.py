"""One rank sums less than the other, and the library ends a process for it."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out.view(-1)[: out.numel() - 4 * dist.get_rank(group)], group=group)
