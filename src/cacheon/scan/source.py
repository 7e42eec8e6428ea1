"""The least that must be true of a source before it is imported: it parses, and it
defines what its row declares."""

import ast
from collections.abc import Iterator
from pathlib import Path

from cacheon.bundle.model import Bundle
from cacheon.bundle.snapshot import digested
from cacheon.records.errors import InputError
from cacheon.scan.guards import imported_arms
from cacheon.scan.parse import parse


def check_source(bundle: Bundle) -> None:
    """Parse every Python file of the bundle, and look for each row's callables.

    Raises InputError at the first that is unreadable or lacks one. Nothing is imported,
    and nothing is run."""
    root = Path(bundle.path)
    trees = {
        entry.path: parse(digested(bundle, entry.path, entry.digest), str(root / entry.path))
        for entry in bundle.files
        if entry.path.endswith(".py")
    }
    for variant in bundle.variants:
        names = set(bound(trees[variant.source]))
        coroutines = {
            node.name
            for node in trees[variant.source].body
            if isinstance(node, ast.AsyncFunctionDef)
        }
        for wanted in (variant.entry, variant.prepare):
            got = "no such name"
            if wanted in coroutines:
                got = "a coroutine, which would run nothing when it is called"
            elif not wanted or wanted in names or "*" in names:
                continue
            raise InputError(
                file=str(root / variant.source),
                place=f"ops[{variant.row}]",
                expected=f"`{wanted}` at the top level of the module",
                got=got,
            )


def bound(tree: ast.Module) -> Iterator[str]:
    """Names bound at the top level, inside `if`, `try` and their kind too; `*` for a star
    import. Function and class bodies have scopes of their own; what runs in a script only
    binds nothing."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case (
                ast.Lambda() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp()
            ):
                pass
            case ast.If(test=test):
                waiting += [test, *imported_arms(node)]
            case _:
                waiting.extend(ast.iter_child_nodes(node))
