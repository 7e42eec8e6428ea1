"""What part of an output a subscript takes, where the source alone shows that it is not all."""

import ast
from collections.abc import Sequence

from cacheon.scan.values import Host, Names, Value

LESS, STEP = "less ", "step "
"""How a part of an output begins that leaves some of it out."""


ALL = -1
"""In the place of a dimension: a shape as a whole."""


def sized(names: Names, dim: int) -> str:
    """What a number is about that is the size of an output in one dimension."""
    return f"size {'/'.join(sorted(names))} {dim}"


def constant(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def lessened(operator: ast.operator, right: ast.expr, topics: Names) -> Names:
    """What a number is about that was made of another: `n // 2` and `n - 1` are less than
    the size that `n` is."""
    number = constant(right) or 0
    smaller = (isinstance(operator, ast.FloorDiv) and number > 1) or (
        isinstance(operator, ast.Sub) and number > 0
    )
    sizes = {topic for topic in topics if topic.startswith("size ")}
    return frozenset(LESS + topic for topic in sizes) if smaller else frozenset()


def stepped(node: ast.AST) -> Names:
    """What the items of `range(0, n, 2)` are about."""
    match node:
        case ast.Call(args=[first, _, step]) if (start := constant(first)) is not None and (
            every := constant(step) or 0
        ) > 1:
            return frozenset({f"{STEP}{every} from {start}"})
    return frozenset()


def is_less(value: Value, names: Names, dim: int) -> bool:
    return isinstance(value, Host) and LESS + sized(names, dim) in value.topics


def taken(
    base: ast.expr,
    index: ast.expr,
    values: Sequence[Value],
    bounds: Sequence[Value],
    names: Names,
    dims: int,
) -> str:
    """The part that `base[index]` surely is less than the whole; else "". `values` and
    `bounds`: of its indices, and of its slices, in order. `dims`: how many the base has."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    indices, ends = iter(values), iter(bounds)
    from_end = False
    for place, part in enumerate(parts):
        if not isinstance(part, ast.Slice):
            value = next(indices, None)
            from_end = from_end or (isinstance(part, ast.Constant) and part.value is Ellipsis)
            steps = value.topics if isinstance(value, Host) and isinstance(part, ast.Name) else ()
            found = [topic for topic in steps if topic.startswith(STEP)]
            if found:
                return found[0]
            continue
        dim = dims - len(parts) + place if from_end else place
        lower, upper = (None if e is None else next(ends, None) for e in (part.lower, part.upper))
        if part.step is not None:
            return ""
        known = isinstance(base, ast.Name)
        begins = (constant(part.lower) or 0) > 0
        ends_early = (constant(part.upper) or 0) < 0
        if lower is not None and known and is_less(lower, names, dim):
            begins = True
        if upper is not None and known and is_less(upper, names, dim):
            ends_early = True
        from_start = part.lower is None or constant(part.lower) == 0
        if (begins and part.upper is None) or (ends_early and from_start):
            return LESS + ast.unparse(index)
    return ""
