"""norm.rmsnorm: rows scaled by their root mean square and a weight."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="norm.rmsnorm",
    kind="op",
    title="x · rsqrt(mean x² + eps) · weight",
    entry=("x", "weight", "out", "eps"),
    tensors=(
        TensorSpec(name="x", role="activation", shape=("T", "H"), dynamic=True),
        TensorSpec(name="weight", role="weight", shape=("H",)),
        TensorSpec(name="out", role="output", shape=("T", "H")),
    ),
    scalars=(ScalarSpec(name="eps", expression="1e-06"),),
    fields={"num_tokens": "T", "last_dim": "H", "hidden_dim": "H"},
    counts=("T",),
    correctness=Correctness(rule="allclose"),
    catalogue=tuple(
        CatalogueShape(dims={"T": tokens, "H": hidden})
        for tokens, hidden in (
            (1, 2880),
            (8, 2880),
            (128, 2880),
            (64, 6144),
            (4096, 4096),
            (333, 1536),
        )
    ),
)
