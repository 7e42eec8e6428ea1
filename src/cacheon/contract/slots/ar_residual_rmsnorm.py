"""collective.ar_residual_rmsnorm: rank sum, residual, norm."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="collective.ar_residual_rmsnorm",
    kind="collective",
    title="out_residual = rank sum + residual; out_norm = rmsnorm of it",
    entry=("x", "residual", "weight", "eps", "out_norm", "out_residual", "group"),
    tensors=(
        TensorSpec(name="x", role="activation", shape=("M", "H"), dynamic=True, rank_varying=True),
        TensorSpec(name="residual", role="activation", shape=("M", "H"), dynamic=True),
        TensorSpec(name="weight", role="weight", shape=("H",)),
        TensorSpec(name="out_norm", role="output", shape=("M", "H")),
        TensorSpec(name="out_residual", role="output", shape=("M", "H")),
    ),
    scalars=(ScalarSpec(name="eps", expression="1e-06"),),
    fields={"num_tokens": "M", "hidden_dim": "H", "last_dim": "H"},
    counts=("M",),
    correctness=Correctness(rule="matched_ratio", ratio=0.99),
    catalogue=tuple(
        CatalogueShape(dims={"M": rows, "H": hidden})
        for rows, hidden in ((4, 4096), (8, 6144), (32, 6144), (64, 6144), (256, 6144))
    ),
)
