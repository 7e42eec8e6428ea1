"""CG601: process group created or destroyed in the entry."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG601",
    title="process group created or destroyed in the entry",
    group="groups",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "Creating a group is itself a collective that blocks the host, exchanges addresses "
        "and allocates; destroying one tears down what captured graphs still use. Either "
        "hangs or fails under capture, and deadlocks where ranks disagree."
    ),
    remedy=(
        "Use the `group` argument. Whatever you derive from it (sub-groups, symmetric "
        "memory, handles) belongs in the first warm-up call, kept for the life of the "
        "process and keyed by the group."
    ),
    slot="collective.all_reduce",
    bad="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    pair = dist.new_group([0, 1])
    out.copy_(x)
    dist.all_reduce(out, group=pair)
    dist.destroy_process_group(pair)
""",
    good="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out, group=group)
""",
)
