"""activation.silu_and_mul: silu of the left half times the right half."""

from cacheon.contract.slots.model import CatalogueShape, Correctness, Slot, TensorSpec

SLOT = Slot(
    name="activation.silu_and_mul",
    kind="op",
    title="silu(left half) · right half",
    entry=("x", "out"),
    tensors=(
        TensorSpec(name="x", role="activation", shape=("T", "2*d"), dynamic=True),
        TensorSpec(name="out", role="output", shape=("T", "d")),
    ),
    fields={"num_tokens": "T", "last_dim": "2*d", "intermediate_dim": "d"},
    counts=("T",),
    correctness=Correctness(rule="allclose"),
    catalogue=tuple(
        CatalogueShape(dims={"T": tokens, "d": width})
        for tokens, width in ((1, 1024), (8, 1024), (128, 4096), (4096, 4096), (333, 2880))
    ),
)
