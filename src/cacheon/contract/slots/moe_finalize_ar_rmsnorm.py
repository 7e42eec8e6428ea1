"""collective.moe_finalize_ar_rmsnorm: gather, scale, sum, reduce, residual, norm."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="collective.moe_finalize_ar_rmsnorm",
    kind="collective",
    title="gather rows, scale, sum over K, sum over ranks, add residual, rmsnorm",
    entry=(
        "gemm_out",
        "row_map",
        "scales",
        "residual",
        "weight",
        "eps",
        "out_norm",
        "out_residual",
        "group",
    ),
    tensors=(
        TensorSpec(
            name="gemm_out",
            role="activation",
            shape=("Te*K", "H"),
            dynamic=True,
            rank_varying=True,
        ),
        TensorSpec(name="row_map", role="activation", shape=("Te*K",), dtype="int32", dynamic=True),
        TensorSpec(
            name="scales", role="activation", shape=("Te", "K"), dtype="float32", dynamic=True
        ),
        TensorSpec(name="residual", role="activation", shape=("T", "H"), dynamic=True),
        TensorSpec(name="weight", role="weight", shape=("H",)),
        TensorSpec(name="out_norm", role="output", shape=("T", "H")),
        TensorSpec(name="out_residual", role="output", shape=("T", "H")),
    ),
    scalars=(ScalarSpec(name="eps", expression="1e-06"),),
    fields={
        "num_tokens": "T",
        "exp_tokens": "Te",
        "top_k": "K",
        "hidden_dim": "H",
        "last_dim": "H",
    },
    context={"ep_size": 1},
    counts=("T", "Te"),
    limits=(("T", "Te"),),
    correctness=Correctness(rule="matched_ratio", ratio=0.99),
    catalogue=tuple(
        CatalogueShape(dims={"T": tokens, "Te": expanded, "K": top_k, "H": hidden})
        for tokens, expanded, top_k, hidden in (
            (8, 16, 5, 4096),
            (64, 64, 5, 6144),
            (224, 256, 5, 6144),
        )
    ),
)
