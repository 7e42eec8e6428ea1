"""CG502: compilation or lazy initialisation during capture."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG502",
    title="compilation or lazy initialisation during capture",
    group="allocation",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "Code that warm-up did not reach compiled, autotuned, loaded a module or created a "
        "handle while the stream was capturing. Loading and benchmarking synchronise, which "
        "capture forbids; and a server would pay seconds in the middle of a request."
    ),
    remedy=(
        "Make warm-up run what capture runs: autotune keys and specialisations may depend "
        "on shape and dtype only, which warm-up sees. Compile all variants at import, or in "
        "the first call of a shape, and do not branch on whether a capture is going on."
    ),
    bad="""\
import torch


def gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * up


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(torch.compile(gated)(gate, up))
""",
    good="""\
import torch


@torch.compile
def gated(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * up


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(gated(gate, up))
""",
)
