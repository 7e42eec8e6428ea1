"""Under capture the sum is read before it was waited for."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    total = x.clone()
    work = dist.all_reduce(total, group=group, async_op=True)
    if not torch.cuda.is_current_stream_capturing():
        work.wait()
    out.copy_(total)
    work.wait()
