"""What a condition says about a capture, and about state that is there or not yet."""

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from cacheon.scan import rank_numbers
from cacheon.scan.values import (
    CAPTURING,
    EAGER,
    GROWN,
    LAZY,
    NONE,
    OUTGROWN,
    RANKED,
    READY,
    Host,
    Names,
    Value,
    unsure,
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
    if rank_numbers.RANK in topics(value):
        return frozenset({RANKED}), frozenset({RANKED})
    return NONE, NONE


def topics(value: Value) -> Names:
    return value.topics if isinstance(value, Host) else NONE


def negated(value: Value) -> Host:
    when, unless = truth(value)
    return Host(when=unless, unless=when, topics=topics(value), holds=value.holds)


def both(values: Sequence[Value]) -> Host:
    """`a and b`: where it is true all facts hold; where not, those common to all."""
    whens, unlesses = zip(*map(truth, values), strict=True)
    return _combined(values, True, frozenset().union(*whens), _common(unlesses))


def either(values: Sequence[Value]) -> Host:
    """`a or b`."""
    whens, unlesses = zip(*map(truth, values), strict=True)
    return _combined(values, False, _common(whens), frozenset().union(*unlesses))


def _common(facts: Sequence[Names]) -> Names:
    # That state was too small may hold as soon as one says so.
    grown = {fact for each in facts for fact in each if fact.startswith((GROWN, OUTGROWN))}
    return frozenset.intersection(*facts) | grown


def _combined(values: Sequence[Value], conjunction: bool, when: Names, unless: Names) -> Host:
    about = unsure(frozenset().union(*map(topics, values)))
    return Host(
        when=when,
        unless=unless,
        topics=about | rank_numbers.combined(values, conjunction),
        holds=frozenset().union(*(value.holds for value in values)),
    )


def is_settled(value: Host) -> bool:
    """Whether it is True or False in every call: no state is asked, and no capture."""
    asks = value.held or value.when or value.unless or value.topics
    return value.known and isinstance(value.constant, bool) and not asks


def compared(left: Value, operator: ast.cmpop, right: Value, node: ast.expr) -> Host:
    """What a comparison of two host values, or with module state, says. `node` is the
    right side as it is written."""
    facts = Host(
        topics=unsure(topics(left) | topics(right)),
        holds=left.holds | right.holds,
    )
    absent = isinstance(node, ast.Constant) and node.value in (None, 0, False, "")
    match operator:
        case ast.In() | ast.NotIn():
            asked = right if right.held else None
            present = isinstance(operator, ast.In)
        case ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() if absent:
            asked = left if left.held else None
            present = isinstance(operator, ast.IsNot | ast.NotEq)
        case ast.Is() | ast.IsNot():
            return facts
        case _:
            return _sized(left, operator, right, facts)
    if asked is None:
        return facts
    ready, lazy = frozenset({READY}), frozenset({LAZY})
    when, unless = (ready, lazy) if present else (lazy, ready)
    return replace(facts, when=when, unless=unless)


def _sized(left: Value, operator: ast.cmpop, right: Value, facts: Host) -> Host:
    """What a comparison with a size of module state says: whether it is to be replaced."""
    asked = left if left.held else right
    if not asked.held:
        return facts
    grown = GROWN if "size" in topics(asked) else OUTGROWN
    lazy = frozenset({LAZY, grown + asked.held})
    if _grows(operator, asked is left):
        return replace(facts, when=lazy)
    return replace(facts, unless=lazy)


def _grows(operator: ast.cmpop, state_is_left: bool) -> bool:
    """Whether a comparison is true where the state is too small, or another's."""
    if isinstance(operator, ast.NotEq):
        return True
    smaller = ast.Lt | ast.LtE if state_is_left else ast.Gt | ast.GtE
    return isinstance(operator, smaller)
