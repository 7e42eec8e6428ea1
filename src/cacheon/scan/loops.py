"""What a turn of a loop may meet of the turn before: names that it reads before it binds."""

import ast
from collections.abc import Sequence

from cacheon.scan.parse import children


def carried(body: Sequence[ast.stmt], target: ast.expr | None = None) -> frozenset[str]:
    """Names read in a loop's body while its statements may not yet have bound them. Only
    what stands in the body itself, under no further condition, binds for certain."""
    bound = set(_names(target)) if target is not None else set[str]()
    found: set[str] = set()
    for statement in body:
        found |= _read(statement) - bound
        match statement:
            case ast.Assign(targets=targets):
                bound.update(name for each in targets for name in _names(each))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                bound.add(name)
    return frozenset(found)


def stands_still(loop: ast.While) -> bool:
    """Whether no turn binds anything that the test of a loop reads."""
    bound = {ast.unparse(node) for node in _places(loop) if not isinstance(node.ctx, ast.Load)}
    return not any(ast.unparse(node) in bound for node in _places(loop.test))


def _places(tree: ast.AST) -> list[ast.Name | ast.Attribute]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]


def _read(statement: ast.stmt) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                found.add(node.id)
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        waiting += children(node)
    return found


def _names(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            return [name for each in targets for name in _names(each)]
        case ast.Starred(value=inner):
            return _names(inner)
    return []
