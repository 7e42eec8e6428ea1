"""One rank leaves out a collective that passes no method of the group."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if dist.get_rank(group) == 1:
        return
    total = torch.ops._c10d_functional.all_reduce(x, "sum", group.group_name)
    out.copy_(torch.ops._c10d_functional.wait_tensor(total))
