"""CG305: host memory read by the graph."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG305",
    title="host memory read by the graph",
    group="staleness",
    confidence="high",
    detected=("scan", "cuda"),
    stages=("capture",),
    why=(
        "The graph has a copy node whose source or target is host memory. Nothing keeps "
        "that memory alive after capture, and what lies there at replay is not what lay "
        "there at capture."
    ),
    remedy=(
        "Put the data on the device once, at import or in `prepare`, and read it from "
        "there. Numbers that are fixed for a shape belong in kernel arguments."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_SCALE = torch.ones(1).pin_memory()


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    scale = _SCALE.to(x.device, non_blocking=True)
    out.copy_(silu(gate) * up * scale)
""",
    good="""\
import torch
from torch.nn.functional import silu

_SCALE: dict[torch.device, torch.Tensor] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.device not in _SCALE:
        _SCALE[x.device] = torch.ones(1, device=x.device)
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up * _SCALE[x.device])
""",
)
