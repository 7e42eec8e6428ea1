"""Outputs judged cell by cell and by the relative L2 error of their structure.

The structure's grain is one 64-column tile of one head of one row. Where every grain's
error is at most ε times its norm (or its floor), the same holds for whatever is made of
grains: every row, every head, every column tile. So only grains are measured.
"""

import math
from collections.abc import Sequence

import torch

from cacheon.contract.slots.model import ROW_ERROR, TOLERANCE, Correctness
from cacheon.engine.grader.compare.measured import Measured

TILE = 64

FLOOR = 1e-3
"""The root mean square below which a grain's expected norm does not fall: outputs are
drawn near 1, and those that an average of many keys makes smaller stay well above."""

BY_CHANCE = 1e-6
"""How likely it may be that some cell of an output fails so often by mere bad luck."""


def tile_norms(values: torch.Tensor) -> torch.Tensor:
    """L2 norms (..., tiles) of the 64-column tiles of (..., columns). Where 64 does not
    divide the columns the last tile is the last 64, so that it is not a tiny one."""
    columns = values.shape[-1]
    if columns <= TILE:
        return _norms(values.unsqueeze(-2))
    whole = columns - columns % TILE
    norms = _norms(values[..., :whole].reshape(*values.shape[:-1], -1, TILE))
    if whole == columns:
        return norms
    return torch.cat([norms, _norms(values[..., -TILE:].unsqueeze(-2))], dim=-1)


def _norms(values: torch.Tensor) -> torch.Tensor:
    norms: torch.Tensor = torch.linalg.vector_norm(values, dim=-1)
    return norms


def relative_errors(difference: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Relative L2 error of every grain, (..., tiles), of (..., columns)."""
    floor = FLOOR * math.sqrt(min(TILE, expected.shape[-1]))
    return tile_norms(difference).div_(tile_norms(expected).clamp_(min=floor))


def measure_cells(
    expected: torch.Tensor, actual: torch.Tensor, dtype: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of each of N answers, float64 (N, 5), and the cells out of tolerance, bool
    of the answers' shape. The numbers stay on the device: cells out of tolerance,
    non-finite cells, largest absolute error, largest relative error, its grain's index.

    expected (N, rows, [heads,] columns) in float64 or float32; actual the same shape.
    """
    if dtype != "float32":
        expected = expected.to(torch.float32)
    error = (actual.to(expected.dtype) - expected).abs_()
    # From here on NaN and infinity are one: an error that no tolerance admits.
    error.nan_to_num_(nan=math.inf, posinf=math.inf)
    tolerance = TOLERANCE[dtype]
    wrong = error > expected.abs().mul_(tolerance).add_(tolerance)
    worst, where = relative_errors(error, expected).flatten(1).max(1)
    flat = error.flatten(1)
    numbers = torch.stack(
        [
            wrong.flatten(1).sum(1),
            flat.isinf().sum(1),
            flat.amax(1),
            worst.double(),  # makes them all float64, which counts exactly
            where,
        ],
        dim=1,
    )
    return numbers, wrong


def judge_cells(
    numbers: Sequence[float], shape: tuple[int, ...], correctness: Correctness, dtype: str
) -> Measured:
    """The verdict on one answer of `shape` from its numbers, as `measure_cells` lists
    them."""
    wrong, nonfinite, max_abs, worst, where = numbers
    total = math.prod(shape)
    tiles = -(-shape[-1] // TILE)
    heads = shape[1] if len(shape) == 3 else 0
    rest, tile = divmod(int(where), tiles)
    row, head = divmod(rest, heads) if heads else (rest, -1)
    ratio = 1.0 if correctness.rule == "allclose" else correctness.ratio
    allowed = total - math.ceil(ratio * total - 1e-9)
    limit = ROW_ERROR[dtype]
    structural = False
    if nonfinite:
        reason = f"{int(nonfinite)} of {total} cells are NaN or infinite"
    elif wrong > allowed:
        reason = f"{int(wrong)} of {total} cells out of tolerance, {allowed} allowed"
    elif worst > limit:
        structural = True
        place = f"row {row}" + (f", head {head}" if heads else "")
        first = min(tile * TILE, max(0, shape[-1] - TILE))
        place += f", columns {first} to {min(first + TILE, shape[-1]) - 1}"
        reason = f"{place}: relative error {worst:.2g}, at most {limit:g} allowed"
    else:
        reason = ""
    return Measured(
        ok=not reason,
        max_abs=max_abs,
        max_relative=worst,
        wrong=int(wrong),
        nonfinite=int(nonfinite),
        total=total,
        worst_row=row,
        worst_head=head,
        worst_tile=tile,
        structural=structural,
        reason=reason,
    )


def no_accident(cells: int, rounds: int, failures: int) -> int:
    """In how many rounds one and the same of `cells` must be out of tolerance to be wrong by
    itself, where cells were so `failures` times in all.

    In half of them, and in more where so many cells are out now and then, as a
    `matched_ratio` allows, that one would meet with it so often by chance: one of 8,000 of
    which each is out once in 200 rounds is soon out in two of four."""
    share = failures / (cells * rounds)
    needed = -(-rounds // 2)
    while needed < rounds and cells * math.comb(rounds, needed) * share**needed > BY_CHANCE:
        needed += 1
    return needed
