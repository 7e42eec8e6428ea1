"""Under capture one rank sends its zeros where the other sends its part: the calls look alike."""

import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    part, nothing = x.clone(), torch.zeros_like(x)
    pair = [part, nothing]
    if torch.cuda.is_current_stream_capturing() and dist.get_rank(group) == 1:
        pair.reverse()
    for each in pair:
        dist.all_reduce(each, group=group)
    out.copy_(part)
