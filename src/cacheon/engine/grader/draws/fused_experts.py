"""Draws for moe.fused_experts: routing from even to lopsided, weights whose outputs are
near 1, multipliers that sum to anything but 1."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

DOWN = 1.7
"""silu(gate) · up of normal gate and up has a root mean square of 0.6."""
LOUD_STRIDE, LOUD_GATE, LOUD_UP = 8, 256.0, 16.0
"""In one column of eight the gate is so many times larger: a careless exponential overflows,
and a gate that is cut off at 7 or so, as some models ask, shows. In another the up is."""
TOTALS = (0.6, 1.5)
"""A row's multipliers sum to K times one of these, which is 1 for no whole K."""


def weights(
    shapes: dict[str, tuple[int, ...]], dtype: torch.dtype, source: Source
) -> dict[str, torch.Tensor]:
    """w13 (E, 2I, H), gate then up, and w2 (E, H, I): gate, up and an expert's output are
    near standard normal for a standard normal x, but for the columns of I whose gate or up
    is as many times larger as the column of w2 is smaller."""
    hidden, intermediate = shapes["w2"][1:]
    w13 = source.normal("w13", shapes["w13"], dtype).mul_(hidden**-0.5)
    w2 = source.normal("w2", shapes["w2"], dtype).mul_(DOWN * intermediate**-0.5)
    first = source.pick("loud", LOUD_STRIDE)
    second = (first + LOUD_STRIDE // 2) % LOUD_STRIDE
    gate, up = w13.split(intermediate, dim=1)
    for part, start, factor in ((gate, first, LOUD_GATE), (up, second, LOUD_UP)):
        part[:, start::LOUD_STRIDE].mul_(factor)
        w2[..., start::LOUD_STRIDE].div_(factor)
    return {"w13": w13, "w2": w2}


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """x (M, H), topk_ids int32 (M, K) distinct in a row, topk_weights float32 (M, K)."""
    spec = case.tensor("x")
    rows, choices = case.tensor("topk_ids").shape
    experts = case.dims["E"]
    source = Source.of(key, device)
    x = source.normal("x", spec.shape, ELEMENT_TYPES[spec.dtype])
    source.scatter_zeros("x", x)

    appeal = _appeal(rows, experts, choices, key.round, extreme, source)
    if choices < experts:
        appeal.scatter_(1, _shunned(rows, experts, key, device)[:, None], float("-inf"))
    ids = appeal.topk(choices, dim=1).indices

    share = source.uniform("topk_weights", (rows, choices), 0.5, 1.5, torch.float32)
    row = torch.arange(rows, device=device) + key.round
    # In one row of four the first expert has nearly all the weight.
    if choices > 1:
        share[:, 0] += torch.where(row % 4 == 3, 8.0 * choices, 0.0)
    total = torch.where(row % 2 == 0, TOTALS[0] * choices, TOTALS[1] * choices)
    multipliers = share / share.sum(1, keepdim=True) * total[:, None]
    return {"x": x, "topk_ids": ids.to(torch.int32), "topk_weights": multipliers}


def poison(case: Case, key: DrawKey, device: torch.device) -> dict[str, torch.Tensor]:
    """topk_ids int32 (M, K): valid, and in every row one expert that `inputs` gives that
    row in this round under no extreme (but for K = E, where there is none)."""
    rows, choices = case.tensor("topk_ids").shape
    experts = case.dims["E"]
    source = Source(device, "poison", key)
    appeal = source.uniform("topk_ids", (rows, experts), 0.0, 1.0, torch.float32)
    appeal.scatter_(1, _shunned(rows, experts, key, device)[:, None], 2.0)
    return {"topk_ids": appeal.topk(choices, dim=1).indices.to(torch.int32)}


def _shunned(rows: int, experts: int, key: DrawKey, device: torch.device) -> torch.Tensor:
    """int64 (M): the expert that a row does not choose in this round. Two experts take
    turns, so that none need stay empty for the sake of it."""
    first = Source.of(key, device).pick("shunned", experts)
    return (torch.arange(rows, device=device) % 2 + first) % experts


def _appeal(
    rows: int, experts: int, choices: int, turn: int, extreme: Extreme, source: Source
) -> torch.Tensor:
    """float32 (M, E): each row goes to the `choices` experts that appeal most to it.

    minimal: groups as even and as small as can be. maximal: all rows to the same experts,
    the others empty. any: a few hot experts, which most rows share, and a quarter that
    stays empty in every other round.
    """
    order = source.uniform("order", (experts,), 0.0, 1.0, torch.float32).argsort()
    place = order.argsort()
    if extreme == "maximal":
        return (-place).to(torch.float32).expand(rows, experts).clone()
    if extreme == "minimal":
        row = torch.arange(rows, device=source.device)[:, None]
        return -((place - row * choices) % experts).to(torch.float32)
    appeal = source.uniform("appeal", (rows, experts), 0.0, 1.0, torch.float32)
    hot = max(1, experts // 8)
    appeal += torch.where(place < hot, 0.5, 0.0)
    empty = min(experts // 4, max(0, experts - choices - 2))
    if turn % 2 == 0 and empty:
        appeal -= torch.where(place >= experts - empty, 4.0, 0.0)
    return appeal
