"""CG603: sum over ranks lacks a contribution or has one too often."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG603",
    title="sum over ranks lacks a contribution or has one too often",
    group="groups",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("eager", "replay", "soak"),
    why=(
        "The answer is right for another sum than that of all ranks: one contribution is "
        "missing, counted twice or in another's place, or nothing was reduced at all. The "
        "message names the rank; a model that runs on such sums is silently wrong."
    ),
    remedy=(
        "Let every rank contribute exactly once in each call. Add what is replicated (a "
        "residual, a bias) after the reduction, give every rank the result, and do not "
        "divide by the number of ranks."
    ),
    unscanned="what a sum lacks is a matter of values",
    slot="collective.all_reduce",
    bad="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out, group=group)
    out.add_(x)
""",
    good="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    dist.all_reduce(out, group=group)
""",
)
