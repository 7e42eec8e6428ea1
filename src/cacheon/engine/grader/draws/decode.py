"""Draws for attention.decode: lengths, needles at their ends, traps beyond them."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.attention import SPREAD
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

LOGIT = 110.0
"""e^110 is more than float32 holds: who does not subtract the largest score divides
infinities. Nothing competes with such a key, so rounding its logit changes nothing."""
SHARED = 0.5
"""The share of √D that every query of a group holds in the direction of its needles. As
little as that keeps the logits of ordinary keys below standard normal."""
BEYOND = 16.0
"""Values beyond a length are so many times larger than the others."""


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """q (B, Hq, D), k and v (B, S, Hkv, D), seq_lens int32 (B).

    Every key beyond a row's length is a trap: its logit is 110 and its value large. In
    rows whose number and round add up to an even one the last visible key is a needle of
    logit 110 too; in the others ordinary keys share the weight, but for one of logit -110.
    A key that is the only visible one has the logit -110: its value is the answer all the
    same, but not where the largest logit is taken to be at least 0, or a hidden one is a
    mere -30 or so.
    """
    q_spec, k_spec = case.tensor("q"), case.tensor("k")
    dtype = ELEMENT_TYPES[k_spec.dtype]
    batch, heads, head_dim = q_spec.shape
    _, cache, kv_heads, _ = k_spec.shape
    source = Source.of(key, device)
    k = source.normal("k", k_spec.shape, dtype)
    v = source.normal("v", k_spec.shape, dtype)
    q = source.normal("q", q_spec.shape, torch.float32).mul_(SPREAD)
    for name, tensor in (("k", k), ("v", v)):
        source.scatter_zeros(name, tensor)

    # Along `direction` (unit vectors) every query of a group holds exactly SHARED · √D.
    direction = source.signs("direction", (batch, kv_heads, head_dim)).mul_(head_dim**-0.5)
    grouped = q.view(batch, kv_heads, heads // kv_heads, head_dim)
    along = torch.einsum("bhgd,bhd->bhg", grouped, direction)
    grouped.addcmul_(SHARED * head_dim**0.5 - along.unsqueeze(-1), direction.unsqueeze(2))
    reach = LOGIT / (float(case.scalars["sm_scale"]) * SHARED * head_dim**0.5)
    needle = direction.mul_(reach).to(dtype)

    row = torch.arange(batch, device=device)
    drawn = lengths(batch, cache, key.round, extreme, source.on_host())
    needs = (torch.arange(batch) + key.round) % 2 == 0
    length, needled = source.carry(torch.stack([drawn, needs])).unbind(0)
    needled = needled.bool()
    beyond = torch.arange(cache, device=device) >= length[:, None]
    torch.where(beyond[:, :, None, None], needle[:, None], k, out=k)
    v.mul_((beyond * (BEYOND - 1) + 1).to(dtype)[:, :, None, None])
    last = length - 1
    k[row, last] = torch.where(needled[:, None, None], needle, k[row, last])
    # A needle's value is the answer: one large cell of it shows who clips.
    column = source.pick("large", head_dim)
    v[row, last, :, column] = v[row, last, :, column].masked_fill(needled[:, None], BEYOND)
    k[:, 0] = torch.where((length == 1)[:, None, None], -needle, k[:, 0])
    if cache > 4:
        middle = length // 2
        spared = needled | (length <= 4)
        k[row, middle] = torch.where(spared[:, None, None], k[row, middle], -needle)
    return {"q": q.to(dtype), "k": k, "v": v, "seq_lens": length.to(torch.int32)}


def lengths(batch: int, cache: int, turn: int, extreme: Extreme, source: Source) -> torch.Tensor:
    """int64 (B), each in [1, S].

    Rows with a needle have at least two visible keys, the others at least one invisible
    one (where S allows): losing the last visible key and reading the first invisible one
    both show. A row changes between the two from round to round, so none is always full.
    """
    row = torch.arange(batch, device=source.device)
    needled = (row + turn) % 2 == 0
    two, short = min(2, cache), max(1, cache - 1)
    if extreme == "minimal":
        return torch.where(needled, two, 1)
    if extreme == "maximal":
        return torch.where(needled, cache, short)
    # A short row hides whatever only many keys show, so every other pair of rows is long.
    floor = torch.where(row // 2 % 2 == 0, max(1, cache // 2), 1)
    low = torch.maximum(floor, torch.where(needled, two, min(2, short)))
    high = torch.where(needled, cache, short)
    unit = source.uniform("seq_lens", (batch,), 0.0, 1.0, torch.float64)
    drawn = low + (unit * (high - low + 1)).to(torch.int64)
    return torch.minimum(drawn, high)


def poison(case: Case, key: DrawKey, device: torch.device) -> dict[str, torch.Tensor]:
    """seq_lens int32 (B): valid, and different from whatever `inputs` draws for the same
    round, whichever the extreme (but for S = 1, where there is nothing else)."""
    batch = case.tensor("seq_lens").shape[0]
    cache = case.tensor("k").shape[1]
    row = torch.arange(batch, device=device)
    needled = (row + key.round) % 2 == 0
    return {"seq_lens": torch.where(needled, 1, cache).to(torch.int32)}
