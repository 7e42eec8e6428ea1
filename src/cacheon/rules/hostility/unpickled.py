"""CG908: unpickling."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG908",
    title="unpickling",
    group="hostility",
    confidence="high",
    detected=("scan",),
    stages=("load",),
    why=(
        "Unpickling runs whatever the bytes say, and the bytes are not source that anybody "
        "reads. The same holds for `torch.load` and its kind, but with `weights_only=True`."
    ),
    remedy=(
        "Keep tables as JSON or as literals in the source, or compute them in `prepare` or "
        "at import."
    ),
    bad="""\
import pickle
from pathlib import Path

import torch
from torch.nn.functional import silu

_TABLE = pickle.loads(Path(__file__).with_name("table.dat").read_bytes())


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
    good="""\
import json
from pathlib import Path

import torch
from torch.nn.functional import silu

_TABLE = json.loads(Path(__file__).with_name("table.json").read_text())


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
