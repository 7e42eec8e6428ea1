"""CG808: ignore comment that cannot stand."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG808",
    title="ignore comment that cannot stand",
    group="declarations",
    confidence="high",
    detected=("scan",),
    stages=("load",),
    why=(
        "An ignore comment without a reason, or for a rule that does not exist, hides a "
        "finding that nobody has answered for. It ignores nothing."
    ),
    remedy=(
        "Write `# cacheon: ignore[CG101] reason` with the rule's id and the reason in "
        "words, on the line of the finding or alone on the line above. The finding stays in "
        "the report beside its reason."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
    torch.cuda.synchronize()  # cacheon: ignore[CG105]
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
    torch.cuda.synchronize()  # cacheon: ignore[CG105] measured by hand, never captured
""",
)
