"""attention.sdpa: causal softmax attention with grouped heads."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="attention.sdpa",
    kind="block",
    title="softmax attention, grouped heads, causal or not",
    entry=("q", "k", "v", "out", "sm_scale", "causal"),
    tensors=(
        TensorSpec(name="q", role="activation", shape=("T", "Hq", "D"), dynamic=True),
        TensorSpec(name="k", role="activation", shape=("T", "Hkv", "D"), dynamic=True),
        TensorSpec(name="v", role="activation", shape=("T", "Hkv", "D"), dynamic=True),
        TensorSpec(name="out", role="output", shape=("T", "Hq", "D")),
    ),
    scalars=(
        ScalarSpec(name="sm_scale", expression="rsqrt(D)"),
        ScalarSpec(name="causal", expression="1"),
    ),
    fields={
        "num_tokens": "T",
        "q_len": "T",
        "kv_len": "T",
        "num_q_heads": "Hq",
        "num_kv_heads": "Hkv",
        "head_dim": "D",
        "last_dim": "D",
    },
    counts=("T",),
    multiples={"Hq": "Hkv"},
    correctness=Correctness(rule="matched_ratio", ratio=0.99),
    catalogue=tuple(
        CatalogueShape(
            dims={"T": tokens, "Hq": q_heads, "Hkv": kv_heads, "D": width},
            choices={"causal": causal},
        )
        for tokens, q_heads, kv_heads, width, causal in (
            (1, 8, 8, 64, True),
            (16, 8, 2, 128, True),
            (64, 16, 16, 128, True),
            (128, 8, 1, 128, True),
            (16, 8, 2, 128, False),
        )
    ),
)
