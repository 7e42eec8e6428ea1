"""One rank leaves out a collective that is called as an operator, below any method."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if dist.get_rank(group) == 1:
        return
    _, work = torch.ops.c10d.allreduce_(
        [out], group.boxed(), torch.classes.c10d.ReduceOp(), None, True, -1
    )
    work.wait()
