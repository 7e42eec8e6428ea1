"""CG603: sum over ranks lacks a contribution or has one too often."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG603",
    title="sum over ranks lacks a contribution or has one too often",
    group="groups",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay", "soak"),
    why=(
        "The answer is right for another sum than that of all ranks: one contribution is "
        "missing, counted twice or in another's place, or nothing was reduced at all. The "
        "message names the rank; a model that runs on such sums is silently wrong. The scan sees "
        "contributions that some ranks change under capture, and no other values."
    ),
    remedy=(
        "Let every rank contribute exactly once in each call. Add what is replicated (a "
        "residual, a bias) after the reduction, give every rank the result, and do not "
        "divide by the number of ranks."
    ),
    slot="collective.all_reduce",
    bad="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if torch.cuda.is_current_stream_capturing() and dist.get_rank(group) == 1:
        out.zero_()
    dist.all_reduce(out, group=group)
""",
    good="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out, group=group)
""",
)
