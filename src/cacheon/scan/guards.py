"""`if __name__ == "__main__":`: what importing never runs."""

import ast
from collections.abc import Sequence

from cacheon.scan.parse import children


def imported_arms(node: ast.If) -> list[ast.stmt]:
    """The statements of a branch that importing may run."""
    match _runs_as_script(node.test):
        case True:
            return node.orelse
        case False:
            return node.body
    return [*node.body, *node.orelse]


def put_aside(nodes: Sequence[ast.AST]) -> list[ast.stmt]:
    """Take out of a source, all nodes of which these are, what importing never runs; the
    statements that were taken out. A source that may rename itself keeps all."""
    branches = [node for node in nodes if isinstance(node, ast.If)]
    asking = [node for node in branches if _runs_as_script(node.test) is not None]
    if not asking or any(map(_renames, nodes)):
        return []
    taken: list[ast.stmt] = []
    for node in asking:
        if _runs_as_script(node.test):
            taken += node.body
            node.body = [ast.copy_location(ast.Pass(), node.body[0])]
        else:
            taken += node.orelse
            node.orelse = []
    return taken


def nodes_of(trees: Sequence[ast.AST]) -> list[ast.AST]:
    """All nodes of some trees, level by level, but operators and their kind."""
    level, found = list(trees), list[ast.AST]()
    while level:
        found += level
        level = [child for node in level for child in children(node)]
    return found


def _runs_as_script(test: ast.expr) -> bool | None:
    """Whether a test is true only (True) or false only (False) in a source that is run as
    a script; None where it asks something else."""
    match test:
        case (
            ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[operator],
                comparators=[ast.Constant(value="__main__")],
            )
            | ast.Compare(
                left=ast.Constant(value="__main__"),
                ops=[operator],
                comparators=[ast.Name(id="__name__")],
            )
        ) if isinstance(operator, ast.Eq | ast.NotEq):
            return isinstance(operator, ast.Eq)
        case ast.BoolOp(op=ast.And(), values=values):
            return True if any(map(_runs_as_script, values)) else None
    return None


def _renames(node: ast.AST) -> bool:
    """Whether something here may give the module another `__name__`."""
    match node:
        case ast.Name(id="__name__", ctx=context) | ast.Attribute(attr="__name__", ctx=context):
            return not isinstance(context, ast.Load)
        case ast.Constant(value="__name__") | ast.keyword(arg="__name__"):
            return True
        case ast.alias(asname="__name__") | ast.alias(name="__name__"):
            return True
    return False
