"""attention.decode: one query a row over a cache of which it sees a prefix."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="attention.decode",
    kind="block",
    title="row i attends to its first seq_lens[i] keys",
    entry=("q", "k", "v", "seq_lens", "sm_scale", "out"),
    tensors=(
        TensorSpec(name="q", role="activation", shape=("B", "Hq", "D"), dynamic=True),
        TensorSpec(name="k", role="activation", shape=("B", "S", "Hkv", "D"), dynamic=True),
        TensorSpec(name="v", role="activation", shape=("B", "S", "Hkv", "D"), dynamic=True),
        TensorSpec(name="seq_lens", role="activation", shape=("B",), dtype="int32", dynamic=True),
        TensorSpec(name="out", role="output", shape=("B", "Hq", "D")),
    ),
    scalars=(ScalarSpec(name="sm_scale", expression="rsqrt(D)"),),
    fields={
        "num_tokens": "B",
        "batch_size": "B",
        "kv_len": "S",
        "num_q_heads": "Hq",
        "num_kv_heads": "Hkv",
        "head_dim": "D",
        "last_dim": "D",
    },
    context={"phase": "decode"},
    counts=("B", "S"),
    multiples={"Hq": "Hkv"},
    correctness=Correctness(rule="matched_ratio", ratio=0.99),
    catalogue=tuple(
        CatalogueShape(dims={"B": batch, "Hq": q_heads, "Hkv": kv_heads, "D": width, "S": cache})
        for batch, q_heads, kv_heads, width, cache in (
            (4, 8, 8, 64, 16),
            (2, 8, 2, 128, 32),
            (8, 16, 16, 128, 64),
            (3, 8, 1, 128, 48),
        )
    ),
)
