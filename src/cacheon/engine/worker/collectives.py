"""Collectives in words: the same name whichever way one was called."""

from typing import Any

import torch

NAMES = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce_coalesced",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "allgather": "all_gather",
    "_allgather_base": "all_gather_into_tensor",
    "allgather_coalesced": "all_gather_coalesced",
    "allgather_into_tensor_coalesced": "all_gather_into_tensor_coalesced",
    "all_gather_single": "all_gather_single",
    "all_gather_single_coalesced": "all_gather_single_coalesced",
    "gather": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor_coalesced",
    "reduce_scatter_single": "reduce_scatter_single",
    "reduce_scatter_single_coalesced": "reduce_scatter_single_coalesced",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "all_to_all_single": "all_to_all_single",
    "send": "send",
    "recv": "recv",
    "recv_anysource": "recv",
}
"""Methods of a process group, and the names they are known by. Every way to a collective
passes one of them but for the functional ones."""


def described(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """A collective in a few words: `all_reduce float32 8x512`, `broadcast int32 4 from 1`."""
    tensor = _first_tensor([*arguments, *keywords.values()])
    words = [NAMES.get(name, name)]
    if tensor is not None:
        words.append(str(tensor.dtype).removeprefix("torch."))
        words.append("x".join(map(str, tensor.shape)) or "scalar")
    for value in (*arguments, *keywords.values()):
        root = getattr(value, "rootRank", None)
        if root is not None:
            words.append(f"from {root}" if name in ("broadcast", "scatter") else f"to {root}")
    return " ".join(words)


def _first_tensor(values: list[Any]) -> torch.Tensor | None:
    for value in values:
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, list | tuple):
            found = _first_tensor(list(value))
            if found is not None:
                return found
    return None
