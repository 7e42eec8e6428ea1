"""CG501: failure in warm-up or compilation."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG501",
    title="failure in warm-up or compilation",
    group="allocation",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("warmup",),
    why=(
        "The first calls, which may compile and initialise, raised or ran past their "
        "deadline. Nothing that follows can be examined."
    ),
    remedy=(
        "Read the compiler's message in the row. Check the architecture and dtype that the "
        "bundle declares against this device, and pass smaller blocks or fewer stages where "
        "shared memory or registers run out. Slow compilers: `--compile-timeout`."
    ),
    unscanned="only a compiler and a device can say whether code compiles and starts",
    bad="""\
import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    raise RuntimeError("no configuration fits this device")
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
