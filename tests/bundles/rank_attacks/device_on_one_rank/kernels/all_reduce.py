"""One rank asks for a GPU, and only under capture: the case is never settled."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out, group=group)
    if torch.cuda.is_current_stream_capturing() and dist.get_rank(group) == 1:
        torch.empty(1, device="cuda")
