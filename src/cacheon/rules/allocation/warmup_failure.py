"""CG501: failure in warm-up or compilation."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG501",
    title="failure in warm-up or compilation",
    group="allocation",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("warmup",),
    why=(
        "The first calls, which may compile and initialise, raised or ran past their "
        "deadline. Nothing that follows can be examined. Where only some ranks raise, the "
        "others wait for them in their next collective; the scan sees that much, where a "
        "comparison with one rank, or parity, decides."
    ),
    remedy=(
        "Read the compiler's message in the row. Check the architecture and dtype that the "
        "bundle declares against this device, and pass smaller blocks or fewer stages where "
        "shared memory or registers run out. Slow compilers: `--compile-timeout`. Let all "
        "ranks serve, or refuse, the same calls."
    ),
    slot="collective.all_reduce",
    bad="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if dist.get_rank(group) == 1:
        raise RuntimeError("no configuration fits this device")
    dist.all_reduce(out, group=group)
""",
    good="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if dist.get_rank(group) >= dist.get_world_size(group):
        raise RuntimeError("a rank beyond the group")
    dist.all_reduce(out, group=group)
""",
)
