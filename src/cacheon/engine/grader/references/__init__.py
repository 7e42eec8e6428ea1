"""The living definition of every slot: slow, plain, and as precise as is affordable.

A reference reads the drawn inputs (weights included) and the call's scalars and returns
each output in its shape, contiguous, in float64 or float32.
"""

from collections.abc import Callable, Mapping

import torch

from cacheon.contract.case import Case
from cacheon.engine.grader.references import (
    decode,
    fused_experts,
    msa_block_score,
    msa_prefill_block_score,
    rmsnorm,
    sdpa,
    silu_and_mul,
)

__all__ = ["Reference", "reference_for"]

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
}


def reference_for(slot_name: str) -> Reference:
    """The reference of a slot. Raises KeyError for a slot that has none yet."""
    return _SLOTS[slot_name]
