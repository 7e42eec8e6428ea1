"""CG104: the entry did not return."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG104",
    title="the entry did not return",
    group="synchronization",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("warmup", "eager", "capture"),
    why=(
        "The call was still running at its deadline: an endless loop, a lock, a spin-wait "
        "on the device for a flag that nobody sets, or a rank that waits for another, which "
        "never comes or never sends. A serving process would hang with it."
    ),
    remedy=(
        "Run the entry alone under `py-spy dump` (host) or `compute-sanitizer` (device) to "
        "see where it waits. A grid-wide barrier needs all blocks resident: launch no more "
        "than fit, or use a cooperative launch. If it only compiles for long, move the "
        "compilation to warm-up and raise `--compile-timeout`."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    while torch.cuda.is_current_stream_capturing():
        pass
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
