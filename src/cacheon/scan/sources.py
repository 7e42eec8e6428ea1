"""Files to modules, under the names by which they import each other."""

import ast
from pathlib import PurePosixPath

from cacheon.scan.guards import nodes_of, put_aside
from cacheon.scan.parse import bounded, decoded, lines_of
from cacheon.scan.project import Module


def module_of(data: bytes, path: str, shown: str, prefix: str = "") -> Module:
    """The module of a source. `path`: from the root of what is scanned; `shown`: how an
    error names it; `prefix`: the package of the root. Raises InputError."""
    tree, nodes = bounded(data, shown)
    aside = nodes_of(put_aside(nodes))
    parts = list(PurePosixPath(path).with_suffix("").parts)
    initial = parts[-1] == "__init__"
    names = [*([prefix] if prefix else []), *(parts[:-1] if initial else parts)]
    package = names if initial else names[:-1]
    return Module(
        path=path,
        name=".".join(names),
        tree=tree,
        nodes=nodes_of([tree]) if aside else nodes,
        aside=aside,
        lines=lines_of(decoded(data, shown)),
        package=".".join(package),
    )


def text_of(data: bytes, path: str) -> Module:
    """A file of another language: its lines only."""
    lines = lines_of(data.decode("utf-8", "replace"))
    return Module(path=path, name="", tree=ast.Module([], []), lines=lines)
