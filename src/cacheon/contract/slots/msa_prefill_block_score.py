"""attention.msa_prefill_block_score: block scores of a prefill behind a cached prefix."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="attention.msa_prefill_block_score",
    kind="block",
    title="scale · q·k, key n visible to row m iff n <= prefix_len + m, block maximum",
    entry=("q", "index_k", "prefix_len", "scale", "block_size", "out"),
    tensors=(
        TensorSpec(name="q", role="activation", shape=("T", "D"), dynamic=True),
        TensorSpec(name="index_k", role="activation", shape=("S", "D"), dynamic=True),
        TensorSpec(
            name="out",
            role="output",
            shape=("T", "ceildiv(S, block)"),
            dtype="float32",
            pitch="ceildiv(S, block) + 8",
        ),
    ),
    scalars=(
        ScalarSpec(name="prefix_len", expression="prefix_len"),
        ScalarSpec(name="scale", expression="rsqrt(D)"),
        ScalarSpec(name="block_size", expression="block"),
    ),
    derived={"prefix_len": "P*block + 39", "S": "P*block + 39 + T"},
    fields={
        "num_tokens": "T",
        "q_len": "T",
        "kv_len": "S",
        "num_kv_heads": "1",
        "head_dim": "D",
        "last_dim": "D",
        "block_size": "block",
        "top_k": "8",
    },
    # The live binding of today; it exempts nobody from a graph requirement.
    context={"phase": "prefill", "graph_mode": "eager"},
    counts=("T", "P"),
    correctness=Correctness(rule="topk_overlap", ratio=0.9, k=8),
    catalogue=tuple(
        CatalogueShape(dims={"T": tokens, "P": blocks, "D": width, "block": block})
        for tokens, blocks, width, block in (
            (16, 12, 128, 128),
            (128, 16, 128, 128),
            (33, 20, 64, 128),
            (64, 24, 128, 64),
            (512, 12, 64, 128),
            (512, 12, 128, 64),
            (512, 12, 128, 128),
        )
    ),
)
