"""Each rank waits in a group of its own, of the same ranks, in the same collective."""

import torch
import torch.distributed as dist

OWN = [dist.new_group() for _ in range(2)]


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out, group=OWN[dist.get_rank(group)])
