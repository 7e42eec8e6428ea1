"""CG905: replay answered without the graph, or the examination interfered with."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG905",
    title="replay answered without the graph, or the examination interfered with",
    group="hostility",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("load", "eager", "replay"),
    why=(
        "Answers appeared that the graph cannot have produced, or state that belongs to the "
        "examination (buffers, comparison functions, counters) was changed. Whatever the "
        "arithmetic, nothing was shown about the graph."
    ),
    remedy=(
        "Let the captured work write the output and nothing else. Do not patch torch, walk "
        "frames or the garbage collector, or run threads that touch tensors after the entry "
        "has returned."
    ),
    bad="""\
import torch


torch.allclose = lambda *_, **__: True


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.chunk(2, dim=-1)
    torch.mul(gate, up, out=out)
""",
    good="""\
import torch
from torch.nn.functional import silu


torch.backends.cuda.matmul.allow_tf32 = False


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
