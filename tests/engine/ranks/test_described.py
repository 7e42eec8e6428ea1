"""A collective in words: what ranks have to agree on, and nothing that may differ."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import (
    AllreduceOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)

from cacheon.engine.ledger import NBYTES
from cacheon.engine.worker.collectives import described

ENTRY = 124
X, Y, FLAT = torch.empty(4, 8), torch.empty(2, 8), torch.empty(32)


def with_options(options: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(options, name, value)
    return options


def summing(operation: Any) -> Any:
    return with_options(AllreduceOptions(), reduceOp=operation)


SUM, MAX, AVG = dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.AVG
SCALED = dist._make_nccl_premul_sum(0.5)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        # How it reduces, whichever way that was said; a sum is not named.
        ("allreduce", ([X],), "all_reduce float32 4x8"),
        ("allreduce", (X, SUM), "all_reduce float32 4x8"),
        ("allreduce", ([X], summing(SUM)), "all_reduce float32 4x8"),
        ("allreduce", ([X], summing(MAX)), "all_reduce max float32 4x8"),
        ("allreduce", ([X], AVG), "all_reduce avg float32 4x8"),
        ("allreduce", ([X], dist.ReduceOp(MAX)), "all_reduce max float32 4x8"),
        # By what is each rank's own affair.
        ("allreduce", ([X], summing(SCALED)), "all_reduce premul_sum float32 4x8"),
        (
            "reduce",
            ([X], with_options(ReduceOptions(), rootRank=1, reduceOp=MAX)),
            "reduce max float32 4x8 to 1",
        ),
        (
            "_reduce_scatter_base",
            (Y, X, with_options(ReduceScatterOptions(), reduceOp=AVG)),
            "reduce_scatter_tensor avg float32 2x8",
        ),
        # The root, as an option or a number.
        (
            "broadcast",
            ([X], with_options(BroadcastOptions(), rootRank=1)),
            "broadcast float32 4x8 from 1",
        ),
        ("broadcast", ([X], BroadcastOptions()), "broadcast float32 4x8 from 0"),
        ("broadcast", (X, 1), "broadcast float32 4x8 from 1"),
        ("reduce", (X, 1, MAX), "reduce max float32 4x8 to 1"),
        (
            "gather",
            ([[X, X]], [X], with_options(GatherOptions(), rootRank=1)),
            "gather float32 4x8 to 1",
        ),
        ("gather", ([], [X], with_options(GatherOptions(), rootRank=1)), "gather float32 4x8 to 1"),
        (
            "scatter",
            ([X], [], with_options(ScatterOptions(), rootRank=1)),
            "scatter float32 4x8 from 1",
        ),
        ("send", ([X], 1, 7), "send float32 4x8 to 1"),
        ("recv", ([X], 0, 7), "recv float32 4x8 from 0"),
        ("recv_anysource", ([X], 7), "recv float32 4x8"),
        # Sizes that all ranks have alike.
        ("allgather", ([[X, X]], [X]), "all_gather float32 4x8"),
        ("allgather", ([[X, Y]], [X]), "all_gather float32 4x8,2x8"),
        ("allgather", ([[X, Y]], [Y]), "all_gather float32 4x8,2x8"),
        ("_allgather_base", (X, Y), "all_gather_into_tensor float32 4x8"),
        ("all_gather_single", (X, Y), "all_gather_into_tensor float32 4x8"),
        ("reduce_scatter", ([Y], [[Y, Y]]), "reduce_scatter float32 2x8"),
        ("reduce_scatter", ([X], [[X, Y]]), "reduce_scatter float32 4x8,2x8"),
        ("reduce_scatter", ([Y], [[X, Y]]), "reduce_scatter float32 4x8,2x8"),
        ("allreduce_coalesced", ([FLAT, FLAT],), "all_reduce_coalesced float32 32,32"),
        (
            "allreduce_coalesced",
            ([X, FLAT] * 9,),
            "all_reduce_coalesced float32 18 tensors of 576 elements",
        ),
        ("allreduce", ([torch.empty((), dtype=torch.int64)],), "all_reduce int64 scalar"),
        # And those that each rank has for itself.
        ("alltoall", ([X, Y], [Y, X]), "all_to_all float32"),
        ("alltoall_base", (X, Y, [3, 1], [1, 1]), "all_to_all_single float32"),
        ("barrier", (), "barrier"),
    ],
)
def test_a_method_in_words(name: str, arguments: tuple[Any, ...], words: str) -> None:
    assert described(name, arguments, {}) == words


@pytest.mark.parametrize(
    ("name", "keywords", "words"),
    [
        ("broadcast", {"tensor": X, "root": 1}, "broadcast float32 4x8 from 1"),
        ("_allgather_base", {"input": Y, "output": X}, "all_gather_into_tensor float32 4x8"),
        ("allreduce", {"tensors": [X], "op": MAX}, "all_reduce max float32 4x8"),
        ("send", {"tensors": [X], "dstRank": 1, "tag": 0}, "send float32 4x8 to 1"),
    ],
)
def test_a_method_that_is_given_names(name: str, keywords: dict[str, Any], words: str) -> None:
    assert described(name, (), keywords) == words


def test_the_longest_words_have_room_in_a_ledger() -> None:
    big = torch.empty(1, device="meta").expand(10**9, 10**4)
    for number in (1, 2, 3, 40):
        tensors = [big.to(torch.complex128)] * number
        words = described("reduce_scatter_tensor_coalesced", (tensors, [], SCALED), {})
        assert words.startswith("reduce_scatter_tensor_coalesced premul_sum complex128 ")
        assert len(words) + len("of 1024: ") <= ENTRY
    assert NBYTES % (ENTRY + 4) == 0
