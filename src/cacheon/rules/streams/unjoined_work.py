"""CG401: work not joined to the caller's stream."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG401",
    title="work not joined to the caller's stream",
    group="streams",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "capture"),
    why=(
        "The output was complete only after the whole device had been waited for, or the "
        "inputs were read before their producer had written them: part of the work runs on "
        "a stream that does not wait for the caller's, or that the caller's does not wait "
        "for. In serving the neighbours read and write too early, now and then."
    ),
    remedy=(
        "Fork with `side.wait_stream(torch.cuda.current_stream())` and join with "
        "`torch.cuda.current_stream().wait_stream(side)` in every call, on every path. "
        "Launch your own CUDA on `at::cuda::getCurrentCUDAStream()`, never with the default "
        "`<<<grid, block>>>`."
    ),
    bad="""\
import torch
from torch.nn.functional import silu

_SIDE: dict[torch.device, torch.cuda.Stream] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.device not in _SIDE:
        _SIDE[x.device] = torch.cuda.Stream()
    side = _SIDE[x.device]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        gate, up = x.float().chunk(2, dim=-1)
        out.copy_(silu(gate) * up)
""",
    good="""\
import torch
from torch.nn.functional import silu

_SIDE: dict[torch.device, torch.cuda.Stream] = {}


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    if x.device not in _SIDE:
        _SIDE[x.device] = torch.cuda.Stream()
    side = _SIDE[x.device]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        gate, up = x.float().chunk(2, dim=-1)
        out.copy_(silu(gate) * up)
    torch.cuda.current_stream().wait_stream(side)
""",
)
