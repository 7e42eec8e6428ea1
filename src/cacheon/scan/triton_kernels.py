"""Triton kernels: functions that a GPU runs, and which of their pointers they store to."""

import ast

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_MARKS = frozenset({"jit", "autotune", "heuristics", "kernel", "prim_func", "macro"})
"""Of Triton, and of CuTe and TileLang, whose functions run on a GPU as well."""
_STORES = frozenset(
    "store atomic_add atomic_max atomic_min atomic_xchg atomic_cas atomic_and atomic_or "
    "atomic_xor".split()
)


def is_kernel(node: Definition) -> bool:
    """Whether a decorator hands the function to a GPU (`@triton.jit` and its kind)."""
    return any(_last_name(each) in _MARKS for each in node.decorator_list)


def parameters(node: Definition) -> list[str]:
    """The names of all parameters, in the order of a call."""
    arguments = node.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def stored(node: Definition) -> frozenset[str]:
    """The parameters that the kernel stores through: those that its stores' pointers are
    sums of. Offsets are among them; a launch gives numbers for those, and no tensors."""
    made_of: dict[str, set[str]] = {}
    targets: set[str] = set()
    for child in ast.walk(node):
        match child:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made_of.setdefault(name, set()).update(_terms(value))
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                made_of.setdefault(name, set()).update(_terms(value))
            case ast.Call(func=ast.Attribute(attr=attr), args=[pointer, *_]) if attr in _STORES:
                targets |= _terms(pointer)
    seen: set[str] = set()
    while targets:
        name = targets.pop()
        seen.add(name)
        targets |= made_of.get(name, set()) - seen
    return frozenset(seen & set(parameters(node)))


def overshoots(node: Definition, call: ast.AST) -> bool:
    """Whether a launch has a block more than fits (`n // BLOCK + 1`), of a kernel that
    stores without a mask."""
    match call:
        case ast.Call(func=ast.Subscript(slice=grid)):
            parts = list(ast.walk(grid))
        case _:
            parts = []
    one_more = any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Add)
        and isinstance(part.left, ast.BinOp)
        and isinstance(part.left.op, ast.FloorDiv)
        and ast.unparse(part.right) == "1"
        for part in parts
    )
    return one_more and any(map(_stores_all, ast.walk(node)))


def _stores_all(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="store"), args=[_, _], keywords=keywords):
            return all(keyword.arg not in ("mask", "boundary_check") for keyword in keywords)
    return False


def _terms(value: ast.expr) -> set[str]:
    """The names that a pointer is the sum of. What is loaded is no term: it is an offset."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            return _terms(left) | _terms(right)
        case ast.Call(func=ast.Attribute(value=inner, attr="to" | "advance" | "cast"), args=args):
            return _terms(inner) | {name for a in args[:1] for name in _terms(a)}
        case ast.Call(func=ast.Attribute(attr="make_block_ptr"), args=[base, *_]):
            return _terms(base)
    return set()


def _last_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
