"""Capture-time rules for single ATen operators, and how each is replayed."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from cacheon.engine.worker.backends.recording.faults import NeedsCuda, Violation
from cacheon.engine.worker.backends.recording.tape import tensors_of

READS = frozenset({"_local_scalar_dense", "equal", "is_nonzero", "item", "_linalg_check_errors"})
"""Operators that hand a device value to the host."""

HIDDEN_READS = frozenset({"masked_fill", "masked_fill_", "index_fill", "index_fill_"})
"""Their CUDA form reads a value that is given as a tensor."""

ENDS = frozenset({"linspace", "logspace"})
"""They read the ends of their range, which only as tensors can be a device's."""

CHECKED = frozenset({"_linalg_eigh", "linalg_eig", "_linalg_eigvals"})
"""Their CUDA form waits to learn whether all went well."""

COPIED = frozenset({"_linalg_svd"})
"""Theirs copies to the host what tells it so."""

SHAPES = frozenset(
    {
        "nonzero",
        "nonzero_numpy",
        "argwhere",
        "masked_select",
        "unique_dim",
        "unique_consecutive",
        "unique_dim_consecutive",
        "_unique",
        "_unique2",
        "bincount",
        "_to_sparse",
        "_to_sparse_csr",
        "_to_sparse_csc",
        "_to_sparse_bsr",
        "_to_sparse_bsc",
        "_coalesce",
    }
)
"""Operators that wait for the device because a value there decides something here."""

CONSTANTS = frozenset({"lift_fresh", "lift_fresh_copy", "lift"})
"""How Python data enters: the operand is fresh, and of host memory."""

HOST_VALUES = frozenset({"scalar_tensor"})

COLLECTIVES = frozenset({"c10d", "_c10d_functional"})
"""Namespaces of what ranks do together."""

_ONLY_READING = frozenset({"send", "barrier"})

METADATA = frozenset({"set_", "set", "resize_", "resize_as_", "_resize_output_"})
"""They change a tensor object, not memory; the tape holds objects of its own."""


def base_name(operator: torch._ops.OpOverload) -> str:
    """`add` of `aten::add.Tensor`."""
    return str(operator._schema.name).rpartition("::")[2]


def is_allocation(name: str) -> bool:
    """Memory without a value: in a graph such a call leaves no node."""
    return name.startswith(("empty", "new_empty", "_empty"))


def is_metadata(operator: torch._ops.OpOverload, name: str) -> bool:
    return name in METADATA or torch.Tag.inplace_view in operator.tags


def is_shape_only(operator: torch._ops.OpOverload, name: str) -> bool:
    """Whether it neither reads nor writes what its tensors hold: views, and new tensors of
    the shape or type of another."""
    aliases = [each.alias_info for each in operator._schema.returns]
    views = any(each is not None and not each.is_write for each in aliases)
    return views or name.startswith("new_") or name.endswith("_like") or is_metadata(operator, name)


def written(
    operator: torch._ops.OpOverload, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Iterator[torch.Tensor]:
    """The tensors that an operator writes, as its schema says; collectives, whose schemas do
    not, write to their first argument."""
    if operator.namespace == "c10d":
        yield from () if base_name(operator) in _ONLY_READING else tensors_of(arguments[0])
        return
    for index, declared in enumerate(operator._schema.arguments):
        if declared.alias_info is None or not declared.alias_info.is_write:
            continue
        value = keywords.get(declared.name) if index >= len(arguments) else arguments[index]
        yield from tensors_of(value)


KERNELS: dict[tuple[str, str], Callable[..., Any]] = {}
"""Python kernels by operator and dispatch key, as `kernels` noted them."""

UNSEEN: set[str] = set()
"""Operators whose Python kernel asks for more than its arguments."""

KERNELS_OF_A_CPU = ("CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "")
_TORCHS_OWN = frozenset(torch._C._dispatch_get_all_op_names())


def python_body(operator: torch._ops.OpOverload) -> Callable[..., Any] | None:
    """What an operator is made of, where that is Python or other operators: one of the
    candidate's, or a composite one, which inference mode leaves whole.

    Raises NeedsCuda for an operator of others that is no Python: nobody sees inside."""
    name = operator.name()
    for key in KERNELS_OF_A_CPU:
        if (name, key) in KERNELS:
            return KERNELS[name, key]
    if operator.namespace == "aten":
        composite = torch._C.DispatchKey.CompositeImplicitAutograd
        whole = torch._C._dispatch_has_kernel_for_dispatch_key(name, composite)
        return operator.decompose if whole else None
    custom: Any = sys.modules.get("torch._library.custom_ops")
    found = custom.OPDEFS.get(operator._schema.name) if custom is not None else None
    if found is not None:
        body: Callable[..., Any] = found._backend_fns.get("cpu", found._init_fn)
        return body
    if name not in _TORCHS_OWN or name in UNSEEN:
        raise NeedsCuda(f"nobody sees inside the operator {name}")
    return None


def check_shape(
    operator: torch._ops.OpOverload, name: str, arguments: Sequence[Any], keywords: dict[str, Any]
) -> None:
    """Raise Violation CG103 where the size of a result hangs on device values."""
    if name in SHAPES:
        raise Violation("CG103", f"`{name}` has a result whose shape depends on device values")
    by_tensor = name == "repeat_interleave" and operator._overloadname in ("Tensor", "self_Tensor")
    if by_tensor and keywords.get("output_size") is None:
        raise Violation("CG103", "`repeat_interleave` with a tensor of repeats and no output_size")
    if name in ("index", "_unsafe_index"):
        for index in arguments[1]:
            if _is_mask(index):
                raise Violation("CG103", "indexing with a boolean mask has a data-dependent shape")


def reads_a_range(name: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether an operator reads on the host from where to where it is to go."""
    if name != "histc":
        return name in ENDS
    # Where both ends are alike, as they are unless they are given, they are looked for.
    low = arguments[2] if len(arguments) > 2 else keywords.get("min", 0)
    high = arguments[3] if len(arguments) > 3 else keywords.get("max", 0)
    return bool(low == high)


def check_mask_write(name: str, arguments: Sequence[Any], host_value: bool) -> None:
    """`x[mask] = 2.0` becomes masked_fill on a GPU; any other value needs the mask's size,
    and through any other index a number is copied there."""
    if name not in ("index_put_", "index_put", "_index_put_impl_", "_unsafe_index_put"):
        return
    indices = [index for index in arguments[1] if index is not None]
    if not any(_is_mask(index) for index in indices):
        if host_value:
            raise Violation("CG102", "a host value written by index is copied to the device")
        return
    accumulates = len(arguments) > 3 and bool(arguments[3])
    if len(indices) > 1 or accumulates or arguments[2].numel() != 1 or not host_value:
        raise Violation("CG103", "writing through a boolean mask has a data-dependent shape")


def _is_mask(index: object) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
