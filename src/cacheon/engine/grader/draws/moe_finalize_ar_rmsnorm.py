"""Draws for collective.moe_finalize_ar_rmsnorm: rows that were sorted by expert, to be
gathered from wherever they went."""

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.draws import rmsnorm
from cacheon.engine.grader.draws.all_reduce import contributions, outlier_column
from cacheon.engine.grader.draws.ar_residual_rmsnorm import residual_of
from cacheon.engine.grader.draws.ranks import SMALL, ranks_of, small_rows
from cacheon.engine.grader.draws.source import DrawKey, Extreme, Source

weights = rmsnorm.weights


def inputs(
    case: Case, key: DrawKey, extreme: Extreme, device: torch.device
) -> dict[str, torch.Tensor]:
    """gemm_out (ranks, Te·K, H), row_map int32 (Te·K), scales float32 (Te, K), residual
    (T, H). A small row has small multipliers: what it gathers may be another row's too."""
    tokens, choices = case.tensor("scales").shape
    source = Source.of(key, device)
    scales = source.uniform("scales", (tokens, choices), 0.5, 1.5, torch.float32)
    scales.mul_(choices**-0.5)
    scales[small_rows(key.round)].mul_(SMALL)
    residual = residual_of(case, key, device)
    residual[small_rows(key.round)].mul_(SMALL)
    return {
        "gemm_out": _gemm_out(case, key, device),
        "row_map": _row_map(tokens * choices, extreme, source),
        "scales": scales,
        "residual": residual,
    }


def _gemm_out(case: Case, key: DrawKey, device: torch.device) -> torch.Tensor:
    """(ranks, Te·K, H). In the column where a rank has its large values the others have zeros:
    what multipliers make of a large value is no multiple of anything, and each rank added
    to it would round it."""
    parts = contributions(case, "gemm_out", key, device)
    for rank in range(ranks_of(case)):
        column = outlier_column(case, "gemm_out", key, rank)
        parts[:rank, :, column] = 0.0
        parts[rank + 1 :, :, column] = 0.0
    return parts


def poison(case: Case, key: DrawKey, device: torch.device) -> dict[str, torch.Tensor]:
    """row_map int32 (Te·K): every place is told the same row, and which it is depends on
    the key."""
    (rows,) = case.tensor("row_map").shape
    row = Source(device, "poison", key).pick("row_map", rows)
    return {"row_map": torch.full((rows,), row, dtype=torch.int32, device=device)}


def _row_map(rows: int, extreme: Extreme, source: Source) -> torch.Tensor:
    """int32 (rows): a permutation. minimal: every row where it was. maximal: the last first.
    any: anywhere."""
    places = torch.arange(rows, dtype=torch.int32, device=source.device)
    if extreme == "minimal":
        return places
    if extreme == "maximal":
        return places.flip(0)
    order = source.uniform("row_map", (rows,), 0.0, 1.0, torch.float32).argsort()
    return order.to(torch.int32)
