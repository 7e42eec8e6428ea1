"""Conditions that tell one rank of a group from another.

Not every comparison with a rank is one: `rank >= world_size` is the same on each rank of a
sound call, and refuses an unsound one. A comparison with one number, or parity, is."""

import ast
from collections.abc import Iterable, Sequence

from cacheon.scan.shares import constant
from cacheon.scan.values import NONE, Host, Names, Value

RANK, WORLD = "rank", "world"
"""Topics: a number made of a rank; how many ranks there are."""
WHICH, SOME = "which rank", "some ranks"
"""Topics: the number of a rank, or its remainder; a condition that is true on some ranks and
false on others."""
NUMBER = Host(topics=frozenset({RANK, WHICH}))
COUNT = Host(topics=frozenset({WORLD}))


def remainder(operator: ast.operator, right: ast.expr, topics: Names) -> Names:
    """What `rank % 2` and `rank & 1` are about."""
    divides = isinstance(operator, ast.Mod) and (constant(right) or 0) > 1
    masks = isinstance(operator, ast.BitAnd) and (constant(right) or 0) > 0
    return topics & {WHICH} if divides or masks else NONE


def compared(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, values: tuple[Value, Value]
) -> Names:
    """What a comparison with a number that stands in the source is about, beside the rest."""
    if not isinstance(operator, ast.Eq | ast.NotEq):
        return NONE
    for value, node in zip(values, (right, left), strict=True):
        # -1 is the answer to a process that is no member: a guard asks for it.
        number = constant(node)
        if number is not None and number >= 0 and WHICH in _topics(value):
            return frozenset({SOME})
    return NONE


def combined(values: Sequence[Value], conjunction: bool) -> Names:
    """What `a and b` and `a or b` are about, beside the rest."""
    told = map(tells, values)
    return frozenset({SOME}) if (all(told) if conjunction else any(told)) else NONE


def tells(value: Value) -> bool:
    """Whether the truth of a value is another on some ranks than on others."""
    return bool(_topics(value) & {WHICH, SOME})


def narrows(topics: Iterable[str]) -> bool:
    """Whether past a condition not every rank, or not every group, may be left."""
    return bool({RANK, WORLD} & frozenset(topics))


def _topics(value: Value) -> Names:
    return value.topics if isinstance(value, Host) else NONE
