"""Collectives that Python calls as operators, below every method of a group:
`torch.ops._c10d_functional.all_reduce`, and so all of torch's functional collectives;
`torch.ops.c10d.allreduce_`.

No dispatch mode stands around the calls. What an operator object keeps to call is wrapped,
the object stays the same; whoever calls the operator from C++ is not seen.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from cacheon.engine.worker.collectives import NO_COLLECTIVES, operator_name

NAMESPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd")
Around = Callable[
    [torch._ops.OpOverload, tuple[Any, ...], dict[str, Any]], AbstractContextManager[object]
]
"""What a call of an operator with these arguments is made within."""


class Called:
    """Stands where an operator keeps what it calls. An operator is hashed by that, and asked
    for that's attributes."""

    def __init__(
        self, function: Callable[..., Any], operator: torch._ops.OpOverload, around: Around
    ) -> None:
        self._function, self._operator, self._around = function, operator, around

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        with self._around(self._operator, arguments, keywords):
            return self._function(*arguments, **keywords)

    def __hash__(self) -> int:
        return hash(self._function)

    def __eq__(self, other: object) -> bool:
        return self is other or self._function == other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def watch(around: Around) -> None:
    """Make every call of such an operator from Python within `around`, for the life of the
    process. Some milliseconds."""
    for packet in _packets():
        overloads: list[Any] = [getattr(packet, name) for name in packet.overloads()]
        if not overloads or operator_name(overloads[0]) in NO_COLLECTIVES:
            continue
        for called in (packet, *overloads):
            operator = overloads[0] if called is packet else called
            called._op = Called(called._op, operator, around)


def _packets() -> Iterator[Any]:
    known = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    for full in sorted(known):
        namespace, _, name = full.partition("::")
        if namespace in NAMESPACES:
            yield getattr(getattr(torch.ops, namespace), name)
