"""Block scores judged by the k best blocks of every row.

What is published is the mean overlap of the k best, k cut to the visible blocks of a row.
Beside it stands what a mean of rows would hide: no row loses more than a quarter of its k,
and a row whose k best are beyond doubt loses none. Beyond doubt: between the last of the
best and the first of the others lies a gap that no honest rounding of the scores bridges.
Scores themselves are not compared: any increasing function of them ranks the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from cacheon.contract.slots.model import Correctness
from cacheon.engine.grader.compare.measured import Measured

CLEAR_GAP = 0.1
"""The gap of a clear row, of the largest absolute score beside it. Queries summed in
bfloat16 move a score by 0.005 of that, keys kept in eight bits by 0.03."""

ROW_SHARE_LOST = 0.25
"""What an unclear row may lose: 2 of 8."""

SLACK = 1e-6
"""Shares are quotients in float32."""


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The truth about (N, rows, blocks). `visible`: the blocks that have a visible key;
    `order` (N, rows, k): the best first; `held` (N, rows, k): which of those are visible;
    `count` (N, rows): how many; `clear` (N, rows)."""

    visible: torch.Tensor
    order: torch.Tensor
    held: torch.Tensor
    count: torch.Tensor
    clear: torch.Tensor


def rank(expected: torch.Tensor, k: int) -> _Ranking:
    """Rank the blocks of `expected` (N, rows, blocks), -inf where a block is invisible."""
    blocks = expected.shape[-1]
    top = expected.topk(min(k + 1, blocks), dim=-1)
    values, order = top.values[..., :k], top.indices[..., :k]
    held = values > -math.inf
    count = held.sum(-1)
    if blocks > k:
        # A row of k visible blocks has nothing else to choose, clear or not.
        gap = top.values[..., k - 1] - top.values[..., k]
        clear = gap >= top.values.abs().amax(-1).mul_(CLEAR_GAP)
    else:
        clear = torch.ones_like(count, dtype=torch.bool)
    return _Ranking(expected > -math.inf, order, held, count, clear)


def lost(ranking: _Ranking, scores: torch.Tensor) -> torch.Tensor:
    """How many of a row's best blocks `scores` (N, rows, blocks) does not put among its k
    best, (N, rows). A tie counts against it: equal scores rank nothing.

    Set the worst of the best against the best of the others, the second worst against the
    second best, and so on: as many pairs as are the wrong way round are exchanged.
    """
    best = torch.where(ranking.held, scores.gather(-1, ranking.order), math.inf)
    others = scores.scatter(-1, ranking.order, -math.inf)
    pairs = ranking.order.shape[-1]
    worst = best.topk(pairs, dim=-1, largest=False).values
    return (worst <= others.topk(pairs, dim=-1).values).sum(-1)


def measure_blocks(
    expected: torch.Tensor, actual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of each of N answers, float64 (N, 7), and the cells that are wrong by
    themselves, bool of the answers' shape. The numbers stay on the device: cells that are
    wrong, cells that are NaN or +inf, largest absolute error of a visible block, mean
    share of its best that a row has lost, largest such share of a clear row, of any row,
    and the number of that row.

    expected (N, rows, blocks) in float64 or float32; actual the same shape.
    """
    ranking = rank(expected, k)
    scores = actual.to(torch.float32)
    nonfinite = ~(scores < math.inf)
    illegal = ((scores > -math.inf) != ranking.visible) | nonfinite
    share = lost(ranking, scores) / ranking.count.clamp(min=1)
    error = torch.where(ranking.visible, scores - expected.to(torch.float32), 0.0)
    worst, row = share.max(-1)
    numbers = torch.stack(
        [
            illegal.sum((1, 2)),
            nonfinite.sum((1, 2)),
            error.abs_().amax((1, 2)),
            share.mean(-1, dtype=torch.float64),  # makes them all float64
            (share * ranking.clear).amax(-1),
            worst,
            row,
        ],
        dim=1,
    )
    return numbers, illegal


def judge_blocks(
    numbers: Sequence[float], shape: tuple[int, ...], correctness: Correctness
) -> Measured:
    """The verdict on one answer of `shape` (rows, blocks) from its numbers, as
    `measure_blocks` lists them."""
    wrong, nonfinite, max_abs, mean, clear, worst, row = numbers
    total = math.prod(shape)
    structural = False
    if nonfinite:
        reason = f"{int(nonfinite)} of {total} scores are NaN or +inf"
    elif wrong:
        reason = f"{int(wrong)} of {total} scores are -inf where visible or finite where not"
    elif 1 - mean < correctness.ratio - SLACK:
        asked = f"at least {correctness.ratio:g} asked"
        reason = f"mean overlap of the best blocks {1 - mean:.3f}, {asked}"
    elif clear or worst > ROW_SHARE_LOST + SLACK:
        structural = True
        reason = f"row {int(row)} has lost {worst:.0%} of its {correctness.k} best blocks"
    else:
        reason = ""
    return Measured(
        ok=not reason,
        max_abs=math.inf if math.isnan(max_abs) else max_abs,
        max_relative=worst,
        wrong=int(wrong),
        nonfinite=int(nonfinite),
        total=total,
        worst_row=int(row),
        worst_head=-1,
        worst_tile=-1,
        structural=structural,
        reason=reason,
    )
