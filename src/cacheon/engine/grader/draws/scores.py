"""What the block score draws share: whose turn it is to win."""

import torch

from cacheon.engine.grader.draws.source import DrawKey, digest

BEST = 8
"""k of both slots' published overlap."""


def first_winner(key: DrawKey, row: torch.Tensor, turn: torch.Tensor | int) -> torch.Tensor:
    """Where, among `turn` blocks, a row's run of winners begins (modulo `turn`), int64.

    It moves on by one from row to row and from round to round, and in odd rounds by one
    more whenever the rows have gone round: so of two rows less than turn² apart, one
    round of any two tells them from each other.
    """
    start = row + (digest(key.seed, key.slot, key.case) % (1 << 16) + key.round)
    return start + row // turn if key.round % 2 else start
