"""CG906: network access."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG906",
    title="network access",
    group="hostility",
    confidence="high",
    detected=("scan",),
    stages=("load",),
    why=(
        "The source reaches for the network. Observers have none, what comes over it is no "
        "part of the bundle's identity, and a kernel has nothing to say to anybody."
    ),
    remedy=(
        "Ship what the kernel needs in the bundle, or compute it at load time. Remove "
        "telemetry and downloads."
    ),
    bad="""\
import urllib.request

import torch
from torch.nn.functional import silu

_TABLE = urllib.request.urlopen("http://example.org/table").read()


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
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
