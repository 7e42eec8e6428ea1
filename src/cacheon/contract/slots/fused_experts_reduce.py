"""moe.fused_experts_reduce: the rank sum of moe.fused_experts."""

import msgspec

from cacheon.contract.slots.fused_experts import CATALOGUE, FIELDS, TENSORS
from cacheon.contract.slots.model import Correctness, Slot

SLOT = Slot(
    name="moe.fused_experts_reduce",
    kind="collective",
    title="rank sum of moe.fused_experts; weights differ by rank",
    entry=("x", "topk_ids", "topk_weights", "prepared", "out", "group"),
    prepare=("w13", "w2"),
    tensors=tuple(
        msgspec.structs.replace(tensor, rank_varying=tensor.role == "weight") for tensor in TENSORS
    ),
    fields=FIELDS,
    context={"ep_size": 1},
    counts=("M",),
    limits=(("K", "E"),),
    correctness=Correctness(rule="matched_ratio", ratio=0.97),
    catalogue=CATALOGUE,
)
