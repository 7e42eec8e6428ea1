"""What a candidate is fed with: values that tell right from nearly right.

Draws are a pure function of (seed, slot, case, buffer set, tensor, round, rank) and, on one
device, reproducible to the bit. Nothing here waits for the device. What differs by rank has
its ranks first in the shape, (ranks, *shape); everything else is the same for every rank.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from cacheon.contract.case import Case
from cacheon.contract.slots.model import Slot
from cacheon.engine.grader.draws import (
    all_reduce,
    ar_residual_rmsnorm,
    decode,
    fused_experts,
    fused_experts_reduce,
    moe_finalize_ar_rmsnorm,
    msa_block_score,
    msa_prefill_block_score,
    rmsnorm,
    sdpa,
    silu_and_mul,
)
from cacheon.engine.grader.draws.ranks import ranks_of
from cacheon.engine.grader.draws.source import ELEMENT_TYPES, DrawKey, Extreme, Source

__all__ = ["DrawKey", "Extreme", "draw_inputs", "draw_weights", "poison_inputs"]

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class _Draws:
    """The draws of one slot. `weights` and `poison` are absent where it has none;
    `rank_weights` draws those that differ by rank, from a source of each rank's own."""

    inputs: Callable[[Case, DrawKey, Extreme, torch.device], Tensors]
    weights: Callable[[dict[str, tuple[int, ...]], torch.dtype, Source], Tensors] | None = None
    rank_weights: (
        Callable[[dict[str, tuple[int, ...]], torch.dtype, list[Source]], Tensors] | None
    ) = None
    poison: Callable[[Case, DrawKey, torch.device], Tensors] | None = None


_SLOTS: dict[str, _Draws] = {
    "activation.silu_and_mul": _Draws(silu_and_mul.inputs),
    "norm.rmsnorm": _Draws(rmsnorm.inputs, weights=rmsnorm.weights),
    "attention.sdpa": _Draws(sdpa.inputs),
    "attention.decode": _Draws(decode.inputs, poison=decode.poison),
    "attention.msa_block_score": _Draws(msa_block_score.inputs, poison=msa_block_score.poison),
    "attention.msa_prefill_block_score": _Draws(msa_prefill_block_score.inputs),
    "moe.fused_experts": _Draws(
        fused_experts.inputs, weights=fused_experts.weights, poison=fused_experts.poison
    ),
    "moe.fused_experts_reduce": _Draws(
        fused_experts_reduce.inputs,
        rank_weights=fused_experts_reduce.weights,
        poison=fused_experts_reduce.poison,
    ),
    "collective.all_reduce": _Draws(all_reduce.inputs),
    "collective.ar_residual_rmsnorm": _Draws(
        ar_residual_rmsnorm.inputs, weights=ar_residual_rmsnorm.weights
    ),
    "collective.moe_finalize_ar_rmsnorm": _Draws(
        moe_finalize_ar_rmsnorm.inputs,
        weights=moe_finalize_ar_rmsnorm.weights,
        poison=moe_finalize_ar_rmsnorm.poison,
    ),
}


def draw_weights(
    slot: Slot, case: Case, layer: int, seed: int, device: torch.device | str
) -> Tensors:
    """The weights of one layer, in the shapes and dtypes of `case`; empty where the slot
    has none.

    They depend on the seed, the slot, the layer, their own shapes and, where they differ by
    rank, the number of ranks, and on nothing else of the case: cases that share the shapes
    share the weights.
    """
    specs = [spec for spec in case.tensors if spec.role == "weight"]
    if not specs:
        return {}
    draws, dtype = _SLOTS[slot.name], ELEMENT_TYPES[specs[0].dtype]
    shapes = {spec.name: spec.shape for spec in specs}
    parts = (seed, slot.name, "weights", sorted(shapes.items()), layer)
    if draws.rank_weights is not None:
        ranks = range(ranks_of(case))
        sources = [Source(device, *parts, "rank", rank) for rank in ranks]
        return draws.rank_weights(shapes, dtype, sources)
    return {} if draws.weights is None else draws.weights(shapes, dtype, Source(device, *parts))


def draw_inputs(
    slot: Slot,
    case: Case,
    weights: Mapping[str, torch.Tensor],
    key: DrawKey,
    extreme: Extreme,
    device: torch.device | str,
) -> Tensors:
    """Every activation of one call, contiguous, in the shapes and dtypes of `case`, for
    every rank.

    `weights` is what the call will be made with; `extreme` shapes lengths and routing.
    """
    return _SLOTS[slot.name].inputs(case, key, extreme, torch.device(device))


def poison_inputs(slot: Slot, case: Case, key: DrawKey, device: torch.device | str) -> Tensors:
    """Valid but other values for the activations that NaN cannot poison, the integers:
    an index out of range would turn a finding into a crash. Empty where there are none."""
    draw = _SLOTS[slot.name].poison
    return {} if draw is None else draw(case, key, torch.device(device))
