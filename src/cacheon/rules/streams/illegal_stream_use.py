"""CG403: stream or event use that is illegal under capture."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG403",
    title="stream or event use that is illegal under capture",
    group="streams",
    confidence="medium",
    detected=("scan", "cuda"),
    stages=("capture",),
    why=(
        "A capturing stream was mixed with one that does not take part, an event from "
        "outside the capture was waited for or queried, or a forked stream was not joined "
        "when capture ended. The driver invalidates the whole capture."
    ),
    remedy=(
        "Fork every side stream from the current one and join it back before the entry "
        "returns; record the events you wait for inside the same call; do not query events "
        "or use the default stream."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_READY = torch.cuda.Event()


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.cuda.current_stream().wait_event(_READY)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu

_READY = torch.cuda.Event()


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
    _READY.record()
    torch.cuda.current_stream().wait_event(_READY)
""",
)
