"""CG105: explicit synchronisation in the entry."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG105",
    title="explicit synchronisation in the entry",
    group="synchronization",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "`torch.cuda.synchronize()`, `stream.synchronize()`, `event.synchronize()` and "
        "`event.query()` are illegal on a capturing stream; in eager serving they stall "
        "every other request."
    ),
    remedy=(
        "Delete it: work on one stream is already in order. To order two streams use "
        "`event.record(a)` and `b.wait_event(event)`, which are captured as edges of the "
        "graph and do not wait on the host."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
    torch.cuda.synchronize()
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
