"""CG602: collectives differ between ranks."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG602",
    title="collectives differ between ranks",
    group="groups",
    confidence="medium",
    detected=("scan", "rehearsal", "cuda"),
    stages=("warmup", "eager", "capture", "replay"),
    why=(
        "A rank leaves out a collective that the others call, calls another one, or calls "
        "them in another order. The ranks wait for each other for ever, or exchange the "
        "wrong data; in a graph every replay does it again."
    ),
    remedy=(
        "Call the same collectives in the same order on every rank, whatever the rank has "
        "to contribute. Branch on the rank only for what stays on it (offsets, masks), "
        "never around a collective. Sends and receives may differ from rank to rank."
    ),
    slot="collective.all_reduce",
    bad="""\
import torch
import torch.distributed as dist


def all_reduce(x: torch.Tensor, out: torch.Tensor, group: dist.ProcessGroup) -> None:
    out.copy_(x)
    if dist.get_rank(group) == 0:
        dist.broadcast(out, 0, group=group)
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
