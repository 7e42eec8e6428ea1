"""CG102: data moved between host and device in the entry."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG102",
    title="data moved between host and device in the entry",
    group="synchronization",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("capture",),
    why=(
        "`.cpu()`, `.to('cuda')` and `torch.tensor([...], device=...)` copy a tensor from "
        "or to pageable host memory, which cannot be captured; so does an index that is a "
        "list or lies on the host. A copy from pinned memory is CG305. What becomes a "
        "Python object, as by `.item()`, is CG101."
    ),
    remedy=(
        "Compute on the device, with constants that were made there once, at import or in "
        "`prepare`, for each device and dtype, and that a module keeps alive. For a filled "
        "tensor use `torch.full`, `zeros` or `arange` with `device=x.device`, which run on "
        "the device. Pass plain numbers to kernels as scalar arguments."
    ),
    bad="""\
import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    one = torch.tensor([1.0], device=x.device)
    out.copy_(gate / (one + torch.exp(-gate)) * up)
""",
    good="""\
import torch


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    one = torch.ones(1, device=x.device)
    out.copy_(gate / (one + torch.exp(-gate)) * up)
""",
)
