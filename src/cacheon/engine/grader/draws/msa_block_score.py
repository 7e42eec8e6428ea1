"""Draws for attention.msa_block_score: rows whose k best blocks are beyond doubt.

What is published is the overlap of the k best blocks, so a fault must move a block across
the cut, or make a visible block invisible or the reverse. In units of |Σ q|, the score of
an ordinary key is standard normal; a *winner* scores 8.5 to 10.5, a *decoy* 6, a *trap*
(every key beyond the length) 14. A decoy hides what holds it down: leave out or count
twice one head, or leave out one quarter of the columns, and some decoy passes every
winner.
"""

from typing import NamedTuple

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.scores import BEST, first_winner
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

WINNER, HIGHEST_WINNER = 8.5, 10.5
DECOY, HIDDEN, TRAP = 6.0, 9.0, 14.0
LOWERED, DEEP = 12.0, -6.0
"""Every second row's scores are lowered below zero; there, a block that loses has a key deeper
than any other, which would win where a sign is lost."""
QUARTERS = 4


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """q (B, Hq, D), index_k (B, S, 1, D), seq_lens int32 (B)."""
    spec = case.tensor("index_k")
    dtype = ELEMENT_TYPES[spec.dtype]
    batch, cache, _, head_dim = spec.shape
    block = int(case.scalars["block_size"])
    blocks = cache // block
    source = Source.of(key, device)
    index_k = source.normal("index_k", spec.shape, dtype)
    q = source.normal("q", case.tensor("q").shape, dtype)
    source.scatter_zeros("index_k", index_k)
    source.scatter_zeros("q", q)

    heads = q.to(torch.float32)
    query = heads.sum(1)
    tall = query.norm(dim=-1, keepdim=True)
    unit = query / tall.square()  # a · unit scores a
    row = torch.arange(batch, device=device)
    plan = _plan(case, key, extreme, source)

    paged = index_k.view(batch, blocks, block, head_dim)
    decoys = (_decoys(heads, query) * tall[:, None]).to(dtype)[:, :block]
    first = source.pick("decoys", block - decoys.shape[1] + 1)
    page = paged[:, :, first : first + decoys.shape[1]]
    page.copy_(torch.where(plan.loses[:, :, None, None], decoys[:, None], page))
    lowered = (row + key.round) % 2 == 1
    deep = (unit * (DEEP * tall)).to(dtype)
    beside = paged[:, :, (first + decoys.shape[1]) % block]
    beside.copy_(torch.where((plan.loses & lowered[:, None])[:, :, None], deep[:, None], beside))

    height = source.uniform("height", (batch, blocks, 1), WINNER, HIGHEST_WINNER, torch.float32)
    winner = (height * (unit * tall)[:, None]).to(dtype)
    here = (row[:, None], torch.arange(blocks, device=device)[None], plan.place)
    paged[here] = torch.where(plan.wins[:, :, None], winner, paged[here])

    flat = index_k.view(batch, cache, head_dim)
    trap = (unit * (TRAP * tall)).to(dtype)
    beyond = torch.arange(cache, device=device) >= plan.length[:, None]
    torch.where(beyond[:, :, None], trap[:, None], flat, out=flat)
    last = plan.length - 1
    ordinary = torch.where(lowered[:, None], deep, flat[row, last])
    flat[row, last] = torch.where(plan.tail_wins[:, None], winner[:, 0], ordinary)
    low = torch.where(lowered[:, None], unit * (LOWERED * tall), 0.0).to(dtype)
    flat.sub_(low[:, None] * ~beyond[:, :, None])
    return {"q": q, "index_k": index_k, "seq_lens": plan.length.to(torch.int32)}


class _Plan(NamedTuple):
    """What becomes of each row (B) and block (B, blocks): the row's length, int64; whether
    its last visible key is a winner; which blocks before that key's win, and which lose;
    where in its block a winner lies, int64."""

    length: torch.Tensor
    tail_wins: torch.Tensor
    wins: torch.Tensor
    loses: torch.Tensor
    place: torch.Tensor


def _plan(case: Case, key: DrawKey, extreme: Extreme, source: Source) -> _Plan:
    """A winner lies first in its block, last, or anywhere."""
    batch, cache = case.tensor("index_k").shape[:2]
    block = int(case.scalars["block_size"])
    blocks = cache // block
    host = source.on_host()
    length, tail_wins = lengths(batch, cache, block, key.round, extreme, host)
    row, column = torch.arange(batch)[:, None], torch.arange(blocks)
    tail = ((length - 1) // block)[:, None]
    behind = tail.clamp(min=1)
    start = first_winner(key, row, behind)
    before_tail = column < tail
    first = (column - start) % behind < BEST - tail_wins[:, None].to(torch.int64)
    wins, loses = before_tail & first, before_tail & ~first
    anywhere = host.integers("place", (batch, blocks), 0, block - 1)
    kind = (column + row + key.round) % 3
    place = torch.where(kind == 0, 0, torch.where(kind == 1, block - 1, anywhere))
    table = torch.cat([length[:, None], tail_wins[:, None], wins, loses, place], dim=1)
    rows, rest = source.carry(table).split_with_sizes([2, 3 * blocks], dim=1)
    flags = rest.bool()
    return _Plan(
        length=rows[:, 0],
        tail_wins=rows[:, 1].bool(),
        wins=flags[:, :blocks],
        loses=flags[:, blocks : 2 * blocks],
        place=rest[:, 2 * blocks :],
    )


def lengths(
    batch: int, cache: int, block: int, turn: int, extreme: Extreme, source: Source
) -> tuple[torch.Tensor, torch.Tensor]:
    """Lengths, int64 (B) in [1, S], and whether the last visible key is a winner, bool (B).

    A row whose number and round add up to an even one ends just after the start of a
    block, so that a length one too short makes that block invisible; the others end with
    a block, so that a length one too long makes the next one visible. Every other pair of
    rows ends inside a block instead: on a winner, or on an ordinary key before the traps.
    """
    row = torch.arange(batch, device=source.device)
    blocks = cache // block
    opens = (row + turn) % 2 == 0
    if extreme == "minimal":
        return torch.where(opens, 1, min(2, cache)), torch.ones_like(opens)
    if extreme == "maximal":
        shorter = cache - block if blocks > 1 else max(1, cache - 1)
        return torch.where(opens, cache, shorter), torch.ones_like(opens)
    inside = row // 2 % 2 == 1
    unit = source.uniform("seq_lens", (2, batch), 0.0, 1.0, torch.float64)
    # Only rows of more than BEST visible blocks rank anything; one row in four may be short.
    whole_low = torch.where(opens, BEST, BEST + 1).clamp(max=blocks - 1)
    whole_low = torch.where(row // 2 % 4 == 3, min(1, blocks - 1), whole_low)
    whole = whole_low + (unit[0] * (blocks - whole_low)).to(torch.int64)
    whole = whole.clamp(max=blocks - 1)
    part = 1 + (unit[1] * (block - 2)).to(torch.int64)
    part = part.clamp(max=max(1, block - 2)) if block > 1 else torch.zeros_like(part)
    length = torch.where(inside, whole * block + 1 + part, whole * block + opens.to(torch.int64))
    # A cache of one block has no whole block to end with.
    length = torch.where(length < 1, 1 + part, length)
    # With one block more than the best, either the tail or another block is left out; the
    # tail shows a length, the other block a head.
    narrow = (length - 1) // block == BEST
    return length, torch.where(inside, opens, ~opens | (narrow & (row % 2 == 0)))


def poison(case: Case, key: DrawKey, device: torch.device) -> dict[str, torch.Tensor]:
    """seq_lens int32 (B): valid, and different from whatever `inputs` draws for the same
    round, whichever the extreme, where S allows."""
    batch, cache = case.tensor("index_k").shape[:2]
    block = int(case.scalars["block_size"])
    row = torch.arange(batch, device=device)
    opens = (row + key.round) % 2 == 0
    # Above 2 and inside the first block, where the caches of several blocks never end.
    other = min(3, block, cache) if cache > block else 2
    return {"seq_lens": torch.where(opens, min(other, cache), cache).to(torch.int32)}


def _decoys(heads: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Keys (B, 2 · (Hq + 4), D) that score DECOY in all, of that -HIDDEN or HIDDEN in one
    head or one quarter of the columns; to be scaled by |query|.

    heads (B, Hq, D) and their sum query (B, D), float32. For a part p of the query (a
    head, or the query cut to a quarter) the key is a · query + b · p with a, b from two
    equations, query · key and p · key.
    """
    head_dim = heads.shape[2]
    column = torch.arange(head_dim, device=heads.device) * QUARTERS // head_dim
    quarter = column == torch.arange(QUARTERS, device=heads.device)[:, None]
    parts = torch.cat([heads, query[:, None] * quarter], dim=1)
    parts = torch.cat([parts, parts], dim=1)
    hidden = torch.full((parts.shape[1],), HIDDEN, device=heads.device)
    hidden[: parts.shape[1] // 2].neg_()
    whole = query.square().sum(-1, keepdim=True)
    own = parts.square().sum(-1)
    cross = torch.einsum("bpd,bd->bp", parts, query)
    # Where a part is nearly the whole (one head only) there is nothing to hide; the key
    # then only shrinks.
    determinant = torch.maximum(whole * own - cross.square(), 0.05 * whole * own).clamp(min=1e-6)
    a = (DECOY * own - hidden * cross) / determinant
    b = (hidden * whole - DECOY * cross) / determinant
    return a.unsqueeze(-1) * query[:, None] + b.unsqueeze(-1) * parts
