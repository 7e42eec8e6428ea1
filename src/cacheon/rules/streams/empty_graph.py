"""CG402: the entry added no node to the graph."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG402",
    title="the entry added no node to the graph",
    group="streams",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "The capture ended with nothing of the entry in it: its work went to another stream "
        "(often the legacy default one), ran on the host, or was skipped. It ran once, "
        "during capture, and no replay repeats it."
    ),
    remedy=(
        "Launch on the current stream: `torch.cuda.current_stream().cuda_stream` from "
        "Python, `at::cuda::getCurrentCUDAStream()` from C++. Do not skip work because the "
        "same arguments were seen before."
    ),
    unscanned=(
        "whether anything reaches the graph is seen when it is captured; work on another "
        "stream is CG401"
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_DONE: set[int] = set()


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.data_ptr() in _DONE:
        return
    _DONE.add(x.data_ptr())
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
