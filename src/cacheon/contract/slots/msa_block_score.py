"""attention.msa_block_score: the best key of every block of a cache, for each row."""

from cacheon.contract.slots.model import (
    CatalogueShape,
    Correctness,
    ScalarSpec,
    Slot,
    TensorSpec,
)

SLOT = Slot(
    name="attention.msa_block_score",
    kind="block",
    title="q·k summed over heads, keys past seq_lens masked, maximum in each block",
    entry=("q", "index_k", "seq_lens", "block_size", "out"),
    tensors=(
        TensorSpec(name="q", role="activation", shape=("B", "Hq", "D"), dynamic=True),
        TensorSpec(name="index_k", role="activation", shape=("B", "S", "1", "D"), dynamic=True),
        TensorSpec(name="seq_lens", role="activation", shape=("B",), dtype="int32", dynamic=True),
        TensorSpec(name="out", role="output", shape=("B", "S//block")),
    ),
    scalars=(ScalarSpec(name="block_size", expression="block"),),
    fields={
        "num_tokens": "B",
        "batch_size": "B",
        "kv_len": "S",
        "num_q_heads": "Hq",
        "head_dim": "D",
        "last_dim": "D",
        "block_size": "block",
        "top_k": "8",
    },
    context={"phase": "decode"},
    counts=("B", "S"),
    multiples={"S": "block"},
    correctness=Correctness(rule="topk_overlap", ratio=0.875, k=8),
    catalogue=tuple(
        CatalogueShape(dims={"B": batch, "Hq": heads, "D": width, "S": cache, "block": 128})
        for batch, heads, width, cache in (
            (4, 4, 128, 1536),
            (2, 4, 128, 2048),
            (8, 8, 64, 1536),
            (3, 4, 128, 4096),
        )
    ),
)
