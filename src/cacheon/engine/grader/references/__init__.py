"""The living definition of every slot: slow, plain, and as precise as is affordable.

A reference reads the drawn inputs (weights included) and the call's scalars and returns
each output in its shape, contiguous, in float64 or float32. That of a collective reads the
inputs of every rank, ranks first, and its outputs are those of each.
"""

from collections.abc import Callable, Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references import (
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
from cacheon.engine.grader.references.ranks import OverRanks

__all__ = ["OverRanks", "Reference", "reference_for"]

Reference = Callable[
    [Mapping[str, torch.Tensor], Mapping[str, float], Case], dict[str, torch.Tensor]
]

_SLOTS: dict[str, Reference] = {
    "activation.silu_and_mul": silu_and_mul.reference,
    "norm.rmsnorm": rmsnorm.reference,
    "attention.sdpa": sdpa.reference,
    "attention.decode": decode.reference,
    "attention.msa_block_score": msa_block_score.reference,
    "attention.msa_prefill_block_score": msa_prefill_block_score.reference,
    "moe.fused_experts": fused_experts.reference,
    "moe.fused_experts_reduce": fused_experts_reduce.reference,
    "collective.all_reduce": all_reduce.reference,
    "collective.ar_residual_rmsnorm": ar_residual_rmsnorm.reference,
    "collective.moe_finalize_ar_rmsnorm": moe_finalize_ar_rmsnorm.reference,
}


def reference_for(slot_name: str) -> Reference:
    """The reference of a slot. Raises KeyError for a slot that has none yet."""
    return _SLOTS[slot_name]
