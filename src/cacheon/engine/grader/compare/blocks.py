"""Block scores judged by the k best blocks of every row.

What is published is the mean overlap of the k best, k cut to the visible blocks of a row.
Beside it stands what a mean of rows would hide: no row loses more than a quarter of its k,
and a row whose k best are beyond doubt loses none. Beyond doubt: between the last of the
best and the first of the others lies a gap that no honest rounding of the scores bridges.
Scores themselves are not compared: any increasing function of them ranks the same.
"""

import math
from dataclasses import dataclass

import torch

from cacheon.contract.slots.model import Correctness
from cacheon.engine.grader.compare.measured import Measured

CLEAR_GAP = 0.1
"""The gap of a clear row, of the row's largest absolute score. Queries summed in bfloat16
move a score by 0.005 of that, keys kept in eight bits by 0.03."""

ROW_SHARE_LOST = 0.25
"""What an unclear row may lose: 2 of 8."""


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The truth about each row of (N, rows, blocks). `best`: the k best of its visible
    blocks; `count` (N, rows): how many those are; `clear` (N, rows)."""

    visible: torch.Tensor
    best: torch.Tensor
    count: torch.Tensor
    clear: torch.Tensor


def rank(expected: torch.Tensor, k: int) -> _Ranking:
    """Rank the blocks of `expected` (N, rows, blocks), -inf where a block is invisible."""
    visible = expected > -math.inf
    blocks = expected.shape[-1]
    top = expected.topk(min(k + 1, blocks), dim=-1)
    values, indices = top.values[..., :k], top.indices[..., :k]
    seen = values > -math.inf
    best = torch.zeros_like(visible).scatter_(-1, indices, seen)
    count = seen.sum(-1)
    if blocks > k:
        scale = expected.masked_fill(~visible, 0).abs().amax(-1)
        # The gap to an invisible block is infinite, but there the k best are all there is.
        clear = top.values[..., k - 1] - top.values[..., k] >= CLEAR_GAP * scale
    else:
        clear = torch.ones_like(count, dtype=torch.bool)
    return _Ranking(visible, best, count, clear)


def kept(ranking: _Ranking, scores: torch.Tensor, k: int) -> torch.Tensor:
    """How many of a row's best blocks `scores` (N, rows, blocks, no NaN) puts among its k
    best, (N, rows). A tie at the cut counts against it: equal scores rank nothing."""
    values = scores.topk(min(k, scores.shape[-1]), dim=-1).values
    last = (ranking.count - 1).clamp_(min=0).unsqueeze(-1)
    cut = values.gather(-1, last)
    above = scores > cut
    level = (scores == cut) & ~ranking.best
    room = ranking.count - above.sum(-1) - level.sum(-1)
    return (above & ranking.best).sum(-1) + room.clamp_(min=0)


def measure_blocks(
    expected: torch.Tensor, actual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of each of N answers, float64 (N, 7), and the cells that are wrong by
    themselves, bool of the answers' shape. The numbers stay on the device: cells that are
    wrong, cells that are NaN or +inf, largest absolute error of a visible block, mean
    overlap, largest share lost by a row that is too much, largest share lost, its row.

    expected (N, rows, blocks) in float64 or float32; actual the same shape.
    """
    ranking = rank(expected, k)
    scores = actual.to(torch.float32)
    nonfinite = ~(scores < math.inf)
    illegal = nonfinite | ((scores > -math.inf) != ranking.visible)
    ranked = scores.masked_fill(nonfinite, -math.inf)
    lost = 1 - kept(ranking, ranked, k).double() / ranking.count.clamp(min=1)
    allowed = torch.where(ranking.clear, 0.0, ROW_SHARE_LOST)
    excess = torch.where(lost > allowed + 1e-9, lost, 0.0)
    error = (scores - expected.to(torch.float32)).abs_().nan_to_num_(nan=math.inf)
    error.masked_fill_(~ranking.visible, 0)
    worst, row = lost.max(-1)
    numbers = torch.stack(
        [
            illegal.flatten(1).sum(1).double(),
            nonfinite.flatten(1).sum(1).double(),
            error.flatten(1).amax(1).double(),
            1 - lost.mean(-1),
            excess.amax(-1),
            worst,
            row.double(),
        ],
        dim=1,
    )
    return numbers, illegal


def judge_blocks(
    numbers: list[float], shape: tuple[int, ...], correctness: Correctness
) -> Measured:
    """The verdict on one answer of `shape` (rows, blocks) from its numbers, as
    `measure_blocks` lists them."""
    wrong, nonfinite, max_abs, mean, excess, worst, row = numbers
    total = math.prod(shape)
    structural = False
    if nonfinite:
        reason = f"{int(nonfinite)} of {total} scores are NaN or +inf"
    elif wrong:
        reason = f"{int(wrong)} of {total} scores are -inf where visible or finite where not"
    elif mean < correctness.ratio:
        reason = f"mean overlap of the best blocks {mean:.3f}, at least {correctness.ratio:g} asked"
    elif excess:
        structural = True
        reason = f"row {int(row)} has lost {worst:.0%} of its {correctness.k} best blocks"
    else:
        reason = ""
    return Measured(
        ok=not reason,
        max_abs=max_abs,
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
