"""What a condition says about a capture, and about state that is there or not yet."""

import ast
from collections.abc import Sequence

from cacheon.scan.values import (
    CAPTURING,
    EAGER,
    GROWN,
    LAZY,
    NONE,
    READY,
    Host,
    Names,
    Value,
)


def asked_capture() -> Host:
    """The answer to `is_current_stream_capturing()`."""
    return Host(
        topics=frozenset({"capture"}), when=frozenset({CAPTURING}), unless=frozenset({EAGER})
    )


def truth(value: Value) -> tuple[Names, Names]:
    """Facts that hold where a value is true, and where it is not. State that is false is
    not there yet."""
    if isinstance(value, Host) and (value.when or value.unless):
        return value.when, value.unless
    if value.held:
        return frozenset({READY}), frozenset({LAZY})
    return NONE, NONE


def topics(value: Value) -> Names:
    return value.topics if isinstance(value, Host) else NONE


def negated(value: Value) -> Host:
    when, unless = truth(value)
    return Host(when=unless, unless=when, topics=topics(value), holds=value.holds)


def both(values: Sequence[Value]) -> Host:
    """`a and b`: where it is true all facts hold; where not, those common to all."""
    whens, unlesses = zip(*map(truth, values), strict=True)
    return _combined(values, frozenset().union(*whens), _common(unlesses))


def either(values: Sequence[Value]) -> Host:
    """`a or b`."""
    whens, unlesses = zip(*map(truth, values), strict=True)
    return _combined(values, _common(whens), frozenset().union(*unlesses))


def _common(facts: Sequence[Names]) -> Names:
    # That state was too small may hold as soon as one says so.
    grown = frozenset({GROWN}) if any(GROWN in each for each in facts) else NONE
    return frozenset.intersection(*facts) | grown


def _combined(values: Sequence[Value], when: Names, unless: Names) -> Host:
    return Host(
        when=when,
        unless=unless,
        topics=frozenset().union(*map(topics, values)),
        holds=frozenset().union(*(value.holds for value in values)),
    )


def compared(left: Value, operator: ast.cmpop, right: Value, node: ast.expr) -> Host:
    """What a comparison of two host values, or with module state, says. `node` is the
    right side as it is written."""
    facts = Host(
        topics=topics(left) | topics(right),
        holds=left.holds | right.holds,
    )
    absent = isinstance(node, ast.Constant) and node.value in (None, 0, False, "")
    match operator:
        case ast.In() | ast.NotIn():
            state, there = right.held, READY
        case ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() if absent:
            state, there = left.held, LAZY
        case ast.Is() | ast.IsNot():
            return facts
        case _:
            state, there = left.held or right.held, GROWN
    if not state:
        return facts
    lazy, ready = frozenset({LAZY}), frozenset({READY})
    if there is GROWN:
        lazy = frozenset({LAZY, GROWN})
        grows = _grows(operator, bool(left.held))
        when, unless = (lazy, NONE) if grows else (NONE, lazy)
    else:
        positive = isinstance(operator, ast.In | ast.Is | ast.Eq)
        true = ready if (there is READY) == positive else lazy
        when, unless = true, (lazy if true is ready else ready)
    return Host(when=when, unless=unless, topics=facts.topics, holds=facts.holds)


def _grows(operator: ast.cmpop, state_is_left: bool) -> bool:
    """Whether a comparison is true where the state is too small, or another's."""
    if isinstance(operator, ast.NotEq):
        return True
    smaller = ast.Lt | ast.LtE if state_is_left else ast.Gt | ast.GtE
    return isinstance(operator, smaller)
