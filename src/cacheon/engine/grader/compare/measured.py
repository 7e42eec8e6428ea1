"""What one comparison found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One answer held against its expected values.

    `ok`: the slot's published correctness and the structure beside it both hold; `reason`
    says in a phrase what does not, else it is empty. `wrong`: cells out of tolerance, of
    `total`; `nonfinite`: NaN, and infinities that are not the expected ones. `max_abs`:
    the largest absolute error, inf where the answer is not finite. `max_relative`: the
    largest relative L2 error of a row, head and tile; for scores the largest share of its
    best blocks that a row has lost. `worst_row`, `worst_head`, `worst_tile`: where that
    is, each -1 where the output has no such thing. `structural`: the published correctness
    holds and only one row, head or tile is wrong.
    """

    ok: bool
    max_abs: float
    max_relative: float
    wrong: int
    nonfinite: int
    total: int
    worst_row: int
    worst_head: int
    worst_tile: int
    structural: bool
    reason: str
