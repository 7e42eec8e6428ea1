"""Ranks meet in a barrier in eager calls, and capture goes another way."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if not torch.cuda.is_current_stream_capturing():
        dist.barrier(group)
    dist.all_reduce(out, group=group)
