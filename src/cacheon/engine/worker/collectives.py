"""Collectives in words: the same name whichever way one was called.

What is said of one is what its ranks have to agree on, and no more: sizes that may differ
from rank to rank (those of an all-to-all) are left out.
"""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
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
    "all_gather_single": "all_gather_into_tensor",
    "all_gather_single_coalesced": "all_gather_into_tensor_coalesced",
    "gather": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor_coalesced",
    "reduce_scatter_single": "reduce_scatter_tensor",
    "reduce_scatter_single_coalesced": "reduce_scatter_tensor_coalesced",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "all_to_all_single": "all_to_all_single",
    "send": "send",
    "recv": "recv",
    "recv_anysource": "recv",
}
"""Methods of a process group, and the names they are known by."""

_OPERATORS = {
    "recv_any_source": "recv",
    "isend": "send",
    "irecv": "recv",
    "batch_p2p_ops": "send and recv",
    "all_gather_into_tensor_out": "all_gather_into_tensor",
    "reduce_scatter_tensor_out": "reduce_scatter_tensor",
}
"""Operators that are called otherwise than the method, or the Python function."""
BARRIERS = frozenset({"barrier", "monitored_barrier"})
NO_COLLECTIVES = frozenset({"wait_tensor", "_wrap_tensor_autograd"})
"""Operators of the same namespaces that hand on what they are given."""

_FROM = frozenset({"broadcast", "scatter", "recv"})
_TO = frozenset({"reduce", "gather", "send"})
_UNEVEN = frozenset({"all_to_all", "all_to_all_single", "send and recv"})
_ROOTS = ("root", "root_rank", "src", "dst", "srcRank", "dstRank")
_SPELT = 48
"""Characters of sizes, one by one, at most: an entry of the ledger has its length."""
_LONGEST = 16
"""Characters of an operation's name: a candidate may give any string for one."""

Noting = Callable[[str], AbstractContextManager[object]]
"""Begins a collective, which is described, and ends with it: `Ledger.noting`."""
Shaped = tuple[tuple[int, ...], torch.dtype]


def described(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """A group's method in a few words: `all_reduce float32 8x512`, `broadcast int32 4 from
    1`, `all_reduce max float32 4`. Of a sum the operation is not named."""
    known = NAMES.get(name, name)
    root = next((keywords[key] for key in _ROOTS if key in keywords), None)
    if root is None and name != "recv_anysource":
        root = next((value for value in arguments if type(value) is int), None)
    operation = ""
    for value in (*arguments, *keywords.values()):
        root = getattr(value, "rootRank", root)
        kind = getattr(value, "reduceOp", value)
        if type(kind).__name__ in ("ReduceOp", "RedOpType"):
            operation = str(getattr(getattr(kind, "op", kind), "name", "")).lower()
    return _words(known, operation, _shaped(known, arguments, keywords), root)


def described_operator(
    operator: torch._ops.OpOverload, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> str:
    """The same of an operator: `c10d::allreduce_`, `_c10d_functional::all_reduce`. In a group
    of fewer ranks than there are it begins with `of` and their number."""
    name = operator_name(operator)
    known = _OPERATORS.get(name, NAMES.get(name, name))
    given = dict(zip((each.name for each in operator._schema.arguments), arguments, strict=False))
    given.update(keywords)
    root = next((given[key] for key in _ROOTS if key in given), None)
    # What operators of `c10d` are given for it is a box that Python cannot open.
    operation = given.get("reduce_op")
    operation = operation.lower() if isinstance(operation, str) else ""
    shaped = [] if name in BARRIERS else _shaped(known, list(given.values()), {})
    ranks = given.get("group_size")
    if isinstance(ranks, int) and ranks > 0:
        # Told of its input; the group's own method is first given what it writes.
        shaped = [(_scaled(known, shape, ranks), dtype) for shape, dtype in shaped]
    words = _words(known, operation, shaped, root)
    return among(_ranks_of(given), words)


def carried_out(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether the tensors of a call are memory. A compiler traces with others, where its
    cache has nothing, which need not be on every rank; and what a wrapper does with the
    tensor inside is a call of its own."""
    tensors = _tensors([*arguments, *keywords.values()])
    plain = torch.Tensor.__torch_dispatch__
    return bool(tensors) and all(
        type(tensor).__torch_dispatch__ is plain and tensor.device.type != "meta"
        for tensor in tensors
    )


def operator_name(operator: torch._ops.OpOverload) -> str:
    """`allreduce` of `c10d::allreduce_`."""
    return str(operator._schema.name).rpartition("::")[2].rstrip("_")


def among(ranks: int, words: str) -> str:
    """What fewer ranks do together need not be what all do."""
    return words if ranks == _world() else f"of {ranks}: {words}"


def _words(name: str, operation: str, shaped: Sequence[Shaped], root: object) -> str:
    words = [name]
    if operation not in ("", "sum"):
        words.append(operation[:_LONGEST])
    if shaped:
        words.append(str(shaped[0][1]).removeprefix("torch."))
        if name not in _UNEVEN:
            words.append(_sizes([shape for shape, _ in shaped], each="coalesced" in name))
    if isinstance(root, int) and name in _FROM | _TO:
        words.append(f"from {root}" if name in _FROM else f"to {root}")
    return " ".join(words)


def _sizes(shapes: Sequence[Sequence[int]], *, each: bool) -> str:
    """`4x512`; `4,8` where tensors of one collective differ, or where `each` counts."""
    spelt = ["x".join(map(str, shape)) or "scalar" for shape in shapes]
    if not each and len(set(spelt)) == 1:
        return spelt[0]
    if len(one_by_one := ",".join(spelt)) <= _SPELT:
        return one_by_one
    return f"{len(spelt)} tensors of {sum(map(math.prod, shapes))} elements"


def _shaped(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Shaped]:
    """The tensors of the first argument that has some: what is written, which all ranks have
    alike. Of an uneven `reduce_scatter` that is each rank's own, and its input is not."""
    named = sorted(keywords, key=lambda key: not key.startswith("output"))
    lists = [_tensors(value) for value in (*arguments, *(keywords[key] for key in named))]
    found = [each for each in lists if each]
    chosen = found[1:2] if name == "reduce_scatter" and len(found) > 1 else found[:1]
    return [(tuple(tensor.shape), tensor.dtype) for each in chosen for tensor in each]


def _tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _scaled(name: str, shape: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    if not shape:
        return shape
    first = shape[0] * ranks if name.startswith("all_gather") else shape[0] // ranks
    return (first, *shape[1:])


def _ranks_of(given: Mapping[str, Any]) -> int:
    """How many ranks the group has that an operator is given, as an object or by name."""
    # Imported where there is a group: a build of torch may know of none.
    from torch.distributed import ProcessGroup, distributed_c10d

    core: Any = distributed_c10d
    group = given.get("process_group", given.get("group_name"))
    if isinstance(group, torch.ScriptObject):
        group = ProcessGroup.unbox(group)
    if isinstance(group, str):
        # Where there is none of that name the operator says so.
        with contextlib.suppress(RuntimeError, ValueError):
            group = core._resolve_process_group(group)
    return int(group.size()) if isinstance(group, ProcessGroup) else _world()


def _world() -> int:
    return torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
