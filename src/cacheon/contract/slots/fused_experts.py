"""moe.fused_experts: a weighted sum of gated feed-forward experts."""

from cacheon.contract.slots.model import CatalogueShape, Correctness, Slot, TensorSpec

TENSORS = (
    TensorSpec(name="x", role="activation", shape=("M", "H"), dynamic=True),
    TensorSpec(name="topk_ids", role="activation", shape=("M", "K"), dtype="int32", dynamic=True),
    TensorSpec(
        name="topk_weights", role="activation", shape=("M", "K"), dtype="float32", dynamic=True
    ),
    TensorSpec(name="w13", role="weight", shape=("E", "2*I", "H")),
    TensorSpec(name="w2", role="weight", shape=("E", "H", "I")),
    TensorSpec(name="out", role="output", shape=("M", "H")),
)
FIELDS = {
    "num_tokens": "M",
    "hidden_dim": "H",
    "last_dim": "H",
    "intermediate_dim": "I",
    "num_experts": "E",
    "top_k": "K",
}
CATALOGUE = tuple(
    CatalogueShape(dims={"M": rows, "E": experts, "H": hidden, "I": inner, "K": top_k})
    for rows, experts, hidden, inner, top_k in (
        (4, 8, 256, 128, 2),
        (16, 32, 512, 256, 4),
        (8, 4, 384, 192, 1),
        (33, 16, 320, 160, 4),
    )
)

SLOT = Slot(
    name="moe.fused_experts",
    kind="block",
    title="Σ weight · (silu(gate)·up) w2ᵀ over the experts of a row",
    entry=("x", "topk_ids", "topk_weights", "prepared", "out"),
    prepare=("w13", "w2"),
    tensors=TENSORS,
    fields=FIELDS,
    counts=("M",),
    limits=(("K", "E"),),
    correctness=Correctness(rule="matched_ratio", ratio=0.97),
    catalogue=CATALOGUE,
)
