"""CG804: one row, head or tile is wrong."""

from cacheon.rules.model import Rule

RULE = Rule(
    id="CG804",
    title="one row, head or tile is wrong",
    group="declarations",
    confidence="high",
    detected=("rehearsal", "cuda"),
    stages=("eager", "replay"),
    why=(
        "The share of wrong elements is small enough for the slot's tolerance, but they lie "
        "together: one row, one head or one 64-column tile is wrong as a whole, or one cell "
        "in every round. For the request that owns that row the answer is simply false."
    ),
    remedy=(
        "Look at the index in the row: the last row points to a tail mask, the last tile to "
        "a width that your block does not divide, one head to the mapping of query heads to "
        "key heads, and a row with a boundary length to an off-by-one."
    ),
    unscanned="which cells are wrong is a matter of values",
    bad="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    answer = silu(gate) * up
    answer[-1] *= 1.5
    out.copy_(answer)
""",
    good="""\
import torch
from torch.nn.functional import silu


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    gate, up = x.float().chunk(2, dim=-1)
    out.copy_(silu(gate) * up)
""",
)
