"""CG203: partial write of the output."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG203",
    title="partial write of the output",
    group="writes",
    confidence="high",
    detected=("scan", "rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "Some elements still hold the poison: a tail, every second column, one block or one "
        "row was not stored. Eagerly that often passes, because fresh memory happens to "
        "hold the old answer; in a graph the storage is reused and stale values remain."
    ),
    remedy=(
        "Make the grid cover the whole output (`cdiv(n, BLOCK)`, not `n // BLOCK`) and the "
        "store mask equal to the bounds. Store zeros where there is nothing to compute "
        "instead of skipping the store. Compare the pattern in the row with your block "
        "sizes: it names the tile that is missing."
    ),
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    answer = silu(gate) * up
    out[:, ::2].copy_(answer[:, ::2])
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    answer = silu(gate) * up
    out[:, ::2].copy_(answer[:, ::2])
    out[:, 1::2].copy_(answer[:, 1::2])
""",
)
