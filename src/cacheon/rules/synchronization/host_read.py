"""CG101: host read of a live tensor in the entry."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG101",
    title="host read of a live tensor in the entry",
    group="synchronization",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "`.item()`, `.tolist()`, `int(tensor)`, `print(tensor)` and their kind make a "
        "Python object of a device value, and wait until it has been computed. A capturing "
        "stream computes nothing, so capture fails; and a value read on the host would be "
        "frozen into the graph. A copy that stays a tensor, such as `.cpu()`, is CG102."
    ),
    remedy=(
        "Keep the value on the device: hand the tensor itself to the kernel and load it "
        "there, or use `torch.where`, masks and tensor arithmetic. Where only a bound is "
        "needed, take it from a shape (`k.shape[1]` instead of `seq_lens.max().item()`). "
        "Remove debugging prints."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    scale = max(1.0, up.abs().amax().item())
    out.copy_(silu(gate) * (up / scale) * scale)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    scale = up.abs().amax().clamp_min(1.0)
    out.copy_(silu(gate) * (up / scale) * scale)
""",
)
