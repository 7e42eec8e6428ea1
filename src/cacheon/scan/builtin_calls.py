"""Python's own functions: what they make of tensors and of host values."""

from collections.abc import Callable, Mapping, Sequence

from cacheon.scan.values import (
    HOST,
    LAZY,
    READY,
    UNKNOWN,
    Group,
    Host,
    Tensor,
    Value,
    every,
    joined,
)

NAMES = frozenset({"importlib.import_module"})
CONTAINERS = frozenset({"dict", "list", "set", "tuple", "collections.defaultdict"})
READS = frozenset({"int", "float", "complex", "str", "repr", "print", "format", "range", "round"})
"""They read a tensor that they are given (`bool`, `min` and `max` test it instead)."""
TESTS = frozenset({"bool", "min", "max", "sorted", "any", "all"})


def result(
    name: str,
    values: Sequence[Value],
    keywords: Mapping[str, Value],
    one_of: Callable[[Value], Value],
) -> Value:
    """What a builtin gives for these arguments."""
    holds = frozenset[str]().union(*(value.holds for value in values))
    match name, values:
        case (("list" | "tuple" | "set" | "sorted" | "reversed" | "iter"), [Group() as group, *_]):
            return Group(every=HOST) if group.keys else group
        case (("list" | "tuple" | "dict" | "set"), []):
            return Group(items=(), every=joined(keywords.values()) if keywords else _NONE)
        case (("list" | "tuple" | "reversed" | "iter"), [value, *_]):
            return Group(every=one_of(value))
        case "zip", _:
            return Group(every=Group(items=tuple(map(one_of, values))))
        case "enumerate", [value, *_]:
            return Group(every=Group(items=(HOST, one_of(value))))
        case "next", [Group() as group, *_]:
            return every(group)
        case "sum", [Group() as group, *_] if isinstance(every(group), Tensor):
            return every(group)
        case (("abs" | "pow"), [Tensor() as tensor, *_]):
            return tensor
        case "hasattr", [_, *_]:
            return Host(when=frozenset({READY}), unless=frozenset({LAZY}))
        case (("bool" | "len" | "isinstance" | "type" | "callable"), [value, *_]):
            return Host(held=value.held, holds=holds if name == "bool" else frozenset())
        case "id", [value, *_]:
            return Host(addresses=value.shares)
        case (("min" | "max"), _):
            found = joined([one_of(values[0])] if len(values) == 1 else values)
            return found if isinstance(found, Tensor) else Host(holds=holds)
        case "getattr", [value, *_]:
            return UNKNOWN
    return Host(holds=holds) if name in _PLAIN else UNKNOWN


_NONE = Host(constant=None, known=True)
_PLAIN = READS | {"divmod", "hash", "ord", "chr", "ascii", "sum", "abs", "pow", "any", "all"}
