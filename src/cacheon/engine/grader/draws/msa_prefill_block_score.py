"""Draws for attention.msa_prefill_block_score: all rows share the keys, each row has k
best blocks beyond doubt, and one of them hangs on the last key that the row sees.

Half of the columns are *axes*: each of some prefix blocks has one key that stands out on
one axis only, and a row's value there says whether that block is a winner of the row. The
other half hold *codes*: each key after the prefix has a random code, and a row of one
round carries the code of the last key that it sees, of the next round that of the first
that it does not. In units of √D / 2 a winner scores 1 to 1.1, a loser at most 0.4,
ordinary keys about ±0.5 at most. The last visible key scores 1, so that its block is one
of the best; the first invisible one 1.2, so that it would push one of the best out; and
one loser 0.8, so that a block which loses its key does not stay by chance. One column of
the codes is the same in all keys: by it every second row's scores are lowered by 1.6, below
zero. A maximum that begins at zero, a ragged block that is filled up with zeros, or a score
without its sign, ranks them otherwise.
"""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.scores import BEST, first_winner
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

WINNER, WINNER_SPREAD = 1.0, 0.1
TRAP, RUNNER_UP = 1.2, 0.8
LOSER, LOSER_SPREAD = -0.3, 0.7
PULL = 2.0
"""A winner's value on its axis: the larger, the more do ordinary keys score."""
LOWERED = 1.6
ORDINARY, QUIET = 0.5, 0.05
"""The scale of ordinary keys, and of the rest of those that carry an axis or a code."""


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """q (T, D), index_k (S, D). `extreme` changes nothing: the lengths are scalars."""
    spec = case.tensor("q")
    dtype = ELEMENT_TYPES[spec.dtype]
    tokens, head_dim = spec.shape
    keys = case.tensor("index_k").shape[0]
    prefix = int(case.scalars["prefix_len"])
    block = int(case.scalars["block_size"])
    source = Source.of(key, device)
    looks_back = key.round % 2 == 0
    k = source.normal("index_k", (keys, head_dim), torch.float32).mul_(ORDINARY)
    q = source.normal("q", (tokens, head_dim), torch.float32).mul_(ORDINARY)
    source.scatter_zeros("index_k", k)
    source.scatter_zeros("q", q)

    coded = slice((key.round + 1) % 2, None, 2)
    width = len(range(*coded.indices(head_dim)))
    # Keys after the prefix: key prefix + t + 1 is the first that row t does not see.
    after = keys - prefix
    codes = source.signs("codes", (after, width))
    k[prefix:].mul_(QUIET / ORDINARY)
    k[prefix:, coded] = codes
    seen = codes[:tokens] if looks_back else codes[1 : tokens + 1] * TRAP
    q[:, coded] = 0
    q[: seen.shape[0], coded] = seen

    # Whole prefix blocks, all of which every row sees.
    held = min(prefix // block, head_dim // 2)
    if held:
        _raise_blocks(k, q, key, source, prefix // block, held, block, looks_back)
    lowering = range(*coded.indices(head_dim))[source.pick("lowering", width)]
    k[:, lowering] = head_dim // 2 / (2 * PULL)
    lowered = (torch.arange(tokens, device=device) + key.round) % 2 == 1
    q[:, lowering] = torch.where(lowered, -LOWERED * 2 * PULL, 0.0)
    return {"q": q.to(dtype), "index_k": k.to(dtype)}


def _raise_blocks(
    k: torch.Tensor,
    q: torch.Tensor,
    key: DrawKey,
    source: Source,
    whole: int,
    held: int,
    block: int,
    looks_back: bool,
) -> None:
    """Give `held` of the `whole` prefix blocks a key on an axis of its own, in k (S, D),
    and each row of q (T, D) its winners among them, in place."""
    tokens, head_dim = q.shape
    device = q.device
    number = torch.arange(held, device=device)
    axis = number * (head_dim // 2) // held * 2 + key.round % 2
    anywhere = source.integers("place", (held,), 0, block - 1)
    kind = (number + key.round) % 3
    place = torch.where(kind == 0, 0, torch.where(kind == 1, block - 1, anywhere))
    position = number * whole // held * block + place
    sign = source.signs("axes", (held,))
    raised = source.normal("raised", (held, head_dim), torch.float32).mul_(QUIET)
    raised[number, axis] = sign * (head_dim // 2 / PULL)
    k[position] = raised

    start = first_winner(key, torch.arange(tokens, device=device)[:, None], held)
    place_in_run = (number - start) % held
    wins = place_in_run < BEST - looks_back
    unit = source.uniform("height", (tokens, held), 0.0, 1.0, torch.float32)
    height = torch.where(wins, WINNER + WINNER_SPREAD * unit, LOSER + LOSER_SPREAD * unit)
    height = torch.where(place_in_run == BEST - looks_back, RUNNER_UP, height)
    q[:, axis] = height * (sign * PULL)
