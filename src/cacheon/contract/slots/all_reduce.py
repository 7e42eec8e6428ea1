"""collective.all_reduce: the sum of x over the ranks."""

from cacheon.contract.slots.model import CatalogueShape, Correctness, Slot, TensorSpec

SLOT = Slot(
    name="collective.all_reduce",
    kind="collective",
    title="float32 sum of x over ranks",
    entry=("x", "out", "group"),
    tensors=(
        TensorSpec(name="x", role="activation", shape=("M", "H"), dynamic=True, rank_varying=True),
        TensorSpec(name="out", role="output", shape=("M", "H")),
    ),
    fields={"num_tokens": "M", "hidden_dim": "H", "last_dim": "H"},
    counts=("M",),
    correctness=Correctness(rule="matched_ratio", ratio=0.99),
    catalogue=tuple(
        CatalogueShape(dims={"M": rows, "H": hidden})
        for rows, hidden in ((1, 4096), (8, 4096), (128, 7168))
    ),
)
