"""CG806: imports that lead nowhere."""

import ast
import importlib.util
import sys
from collections.abc import Iterator, Set

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.project import Module, Project
from cacheon.scan.source import bound

_SERVING = frozenset({"torch", "triton", "numpy", "cuda", "nvidia"})
"""There where candidates run, whether or not they are here."""


def missing(project: Project, entries: Set[str]) -> Iterator[tuple[Module, Fault]]:
    """Imports of modules that neither the sources, nor Python, nor torch's company have,
    nor this machine; of names that another source does not define; and relative ones in
    `entries`, the sources of rows, which are loaded outside any package."""
    for module in project.modules.values():
        for node in _certain(module.tree):
            match node:
                case ast.Import(names=names):
                    dotted = [alias.name for alias in names]
                case ast.ImportFrom(level=level) if level and module.path in entries:
                    message = "a row's source is no part of a package: import by full name"
                    yield module, Fault("CG806", message, node)
                    continue
                case ast.ImportFrom(names=names):
                    origin = project.relative(node, module)
                    dotted = [origin]
                    source = project.module(origin)
                    if source is not None:
                        for name in _undefined(source, names, project):
                            message = f"`{origin}` of this bundle has no `{name}`"
                            yield module, Fault("CG806", message, node)
                case _:
                    continue
            for name in dotted:
                if project.module(name) is None and not _is_there(name, project):
                    message = f"no module `{name}` is in the bundle, in Python or beside torch"
                    yield module, Fault("CG806", message, node)


def _certain(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements outside `try` and outside `if`: an import there may have a substitute."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.Try | ast.TryStar | ast.If):
            for held in ("body", "orelse", "cases"):
                waiting += getattr(node, held, ())


def _undefined(source: Module, names: list[ast.alias], project: Project) -> list[str]:
    defined = set(bound(source.tree))
    if {"*", "__getattr__"} & defined:
        return []
    return [
        alias.name
        for alias in names
        if alias.name not in defined | {"*"}
        and project.module(f"{source.name}.{alias.name}") is None
    ]


def _is_there(dotted: str, project: Project) -> bool:
    root = dotted.partition(".")[0]
    if not root or root in sys.stdlib_module_names or root in _SERVING:
        return True
    names = [module.name for module in project.modules.values()]
    if any(name.partition(".")[0] == root for name in names):
        # A directory of the sources: a package even without a file of its own.
        return any(name.startswith(f"{dotted}.") for name in names)
    # Looks for a file of that name; runs nothing.
    return root == "__main__" or importlib.util.find_spec(root) is not None
