"""Expressions over a slot's dimensions: `2*d`, `ceildiv(S, block)`, `rsqrt(D)`.

Integers, names, + - * //, and two functions; nothing else is understood, and nothing is
ever passed to `eval`.
"""

import ast
import functools
import math
from collections.abc import Mapping


class ExpressionError(ValueError):
    """An expression that is none, or that names a dimension which is not there."""


@functools.cache
def _parse(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"{expression!r} is no expression") from error


def evaluate(expression: str, dims: Mapping[str, int]) -> int | float:
    """The value of an expression; a literal float such as `1e-06` is its own value."""
    return _value(_parse(expression), dims, expression)


def whole(expression: str, dims: Mapping[str, int]) -> int:
    """The value of an expression that must be an integer."""
    value = evaluate(expression, dims)
    if not isinstance(value, int):
        raise ExpressionError(f"{expression!r} is no whole number")
    return value


@functools.cache
def names(expression: str) -> frozenset[str]:
    """The dimensions that an expression reads."""
    found = (node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name))
    return frozenset(found) - {"ceildiv", "rsqrt"}


def _value(node: ast.expr, dims: Mapping[str, int], whole_text: str) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in dims:
            return dims[name]
        case ast.BinOp(left=left, op=operator, right=right):
            return _combine(
                operator, _value(left, dims, whole_text), _value(right, dims, whole_text)
            )
        case ast.Call(func=ast.Name(id="ceildiv"), args=[left, right], keywords=[]):
            return int(-(-_value(left, dims, whole_text) // _value(right, dims, whole_text)))
        case ast.Call(func=ast.Name(id="rsqrt"), args=[inner], keywords=[]):
            return 1.0 / math.sqrt(_value(inner, dims, whole_text))
    raise ExpressionError(f"{whole_text!r}: {ast.unparse(node)} is not understood here")


def _combine(operator: ast.operator, left: int | float, right: int | float) -> int | float:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right
    raise ExpressionError(f"the operator {type(operator).__name__} is not understood here")
