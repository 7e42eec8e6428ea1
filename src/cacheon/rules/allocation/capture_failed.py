"""CG505: capture failed."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG505",
    title="capture failed",
    group="allocation",
    confidence="high",
    detected=("scan", "cuda"),
    stages=("capture",),
    why=(
        "Something the entry did is not legal on a capturing stream, and the error fits no "
        "narrower rule. The exception at the end of a capture only says that it was "
        "invalidated; the row shows the first cause that could be found."
    ),
    remedy=(
        "Bisect the entry: capture half of it with `torch.cuda.graph` in a script of a few "
        "lines. `torch.cuda.set_sync_debug_mode('error')` in an eager call raises at the "
        "line of a hidden synchronisation, and `CUDA_LAUNCH_BLOCKING` must be unset."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        answer = silu(gate) * up
    out.copy_(answer)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
