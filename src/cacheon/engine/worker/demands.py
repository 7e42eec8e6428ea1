"""Whether an exception is a candidate's own word that it wants a CUDA device."""

import ast
import linecache
import os
import traceback

_TELLING = ("is_cuda", "is_available", "is_cpu")


def demands_cuda(error: BaseException, root: str) -> bool:
    """Whether a line under `root` raised it itself, in an `assert` or under an `if` that
    tests for a device."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames or not isinstance(error, Exception):
        return False
    frame, line = frames[-1]
    file = frame.f_code.co_filename
    if not root or not file.startswith(root + os.sep):
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    return any(_tests_for_cuda(test) for test in _tests_over(tree, line))


def _tests_over(tree: ast.AST, line: int) -> list[ast.expr]:
    """The tests that led to the `assert` or `raise` at a line; none where there is neither."""
    found: list[ast.expr] = []
    node: ast.AST | None = tree
    while node is not None:
        if isinstance(node, ast.Assert):
            return [*found, node.test]
        if isinstance(node, ast.Raise):
            return found
        if isinstance(node, ast.If):
            found.append(node.test)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.clear()
        inside = (child for child in ast.walk(node) if child is not node)
        holding = [child for child in inside if _is_statement_over(child, line)]
        # `walk` goes breadth first: the first is the next one inward.
        node = holding[0] if holding else None
    return []


def _is_statement_over(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)


def _tests_for_cuda(test: ast.expr) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute):
            of_device = isinstance(node.value, ast.Attribute) and node.value.attr == "device"
            if node.attr in _TELLING or (node.attr == "type" and of_device):
                return True
        elif isinstance(node, ast.Constant) and str(node.value).startswith("cuda"):
            return True
    return False
