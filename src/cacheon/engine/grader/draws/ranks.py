"""What the draws of collectives share: a value a rank, and contributions whose sum is near 1.

A rank-varying tensor is drawn once a rank, each time from a source that names the rank, so
that no two ranks, rounds or retries can hold the same values; its ranks come first in the
shape. A replicated tensor is drawn once: every rank is given the same bits.
"""

from collections.abc import Callable

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.source import DrawKey

SMALL = 2.0**-10
"""Where contributions and residual are so small, mean x² is near eps; a power of two, so that
what needs no rounding in a sum needs none in a small row. There are no large
rows: the sum of some large numbers may be small, and its rounding in bfloat16 is not."""


def ranks_of(case: Case) -> int:
    """How many ranks make a call of the case."""
    return int(case.descriptor["world_size"])


def share(ranks: int) -> float:
    """The scale of one rank's contribution. In a sum that stays near 1 the roundings of a
    ring of 32 bfloat16 additions stay within tolerance."""
    return float(ranks**-0.5)


def by_rank(key: DrawKey, ranks: int, draw: Callable[[DrawKey], torch.Tensor]) -> torch.Tensor:
    """(ranks, *shape) of what `draw` makes under each rank's key."""
    return torch.stack([draw(key.of_rank(rank)) for rank in range(ranks)])


def small_rows(turn: int) -> slice:
    """Every second row, beginning at `turn`: every row, also an only one, is small in one of
    any two consecutive rounds."""
    return slice(turn % 2, None, 2)
