"""CG404: host node in the graph."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG404",
    title="host node in the graph",
    group="streams",
    confidence="high",
    detected=("scan", "cuda"),
    stages=("capture",),
    why=(
        "The graph calls back into the host (`cudaLaunchHostFunc`) at every replay. Host "
        "code delays the stream, may touch state that has changed or gone, and must not "
        "call CUDA."
    ),
    remedy=(
        "Do the work on the device, or at load time. Progress counters and logging belong "
        "outside the entry."
    ),
    bad="""\
import torch
from cuda.bindings import runtime
from torch.nn.functional import silu

_TOLD: list[object] = []


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
    stream = torch.cuda.current_stream().cuda_stream
    runtime.cudaLaunchHostFunc(stream, _TOLD, None)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
