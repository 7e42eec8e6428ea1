"""The sources that are scanned together, and where a name of theirs leads."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from cacheon.scan.parse import children
from cacheon.scan.triton_kernels import is_kernel

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_CHANGES = frozenset(
    "append appendleft extend insert setdefault update add pop popitem clear remove discard".split()
)


@dataclass
class Module:
    """One source: `path` as it is reported, `name` as it is imported, `nodes` all of its
    tree, `aside` those that importing never runs, which the tree is without."""

    path: str
    name: str
    tree: ast.Module
    lines: list[str]
    nodes: list[ast.AST] = field(default_factory=list)
    aside: list[ast.AST] = field(default_factory=list)
    package: str = ""
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for node in reversed(list(_top_level(self.tree))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
        self.changed = frozenset(_changed(self.nodes))

    def is_kernel(self, name: str) -> bool:
        return name in self.functions and is_kernel(self.functions[name])


class Project:
    """Modules by the names under which they import each other. `roots`: packages whose
    modules are found without their name, as directories on the import path are."""

    def __init__(self, modules: Sequence[Module], roots: Sequence[str] = ()) -> None:
        self.modules = {module.path: module for module in modules}
        self._roots = tuple(roots)
        self._by_name: dict[str, Module] = {}
        for module in modules:
            self._by_name.setdefault(module.name, module)
        self._nodes: dict[tuple[str, int], FunctionNode] = {}
        self._named: dict[frozenset[str], bool] = {}

    def module(self, name: str) -> Module | None:
        """The source that a dotted name leads to."""
        for prefix in ("", *(f"{root}." for root in self._roots)):
            if prefix + name in self._by_name:
                return self._by_name[prefix + name]
        return None

    def relative(self, node: ast.ImportFrom, importer: Module) -> str:
        """The absolute name of what `from … import` names."""
        if not node.level:
            return node.module or ""
        parts = importer.package.split(".") if importer.package else []
        kept = parts[: len(parts) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def names_any(self, names: frozenset[str]) -> bool:
        """Whether one of these names, or a text that is one, stands in any source."""
        if names not in self._named:
            nodes = (node for module in self.modules.values() for node in module.nodes)
            self._named[names] = any(not names.isdisjoint(_names_in(node)) for node in nodes)
        return self._named[names]

    def remember(self, path: str, node: FunctionNode) -> None:
        self._nodes[path, place_of(node)] = node

    def node(self, path: str, line: int) -> FunctionNode:
        return self._nodes[path, line]


_HOLDING = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar),
    *(ast.Match, ast.ExceptHandler, ast.match_case),
)
"""What has statements of the scope around it."""


def place_of(node: FunctionNode) -> int:
    """One number for a place: two functions may begin on one line."""
    return node.lineno * 1_000_000 + min(node.col_offset, 999_999)


def _names_in(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return (name,)
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return tuple(alias.name for alias in aliases)
    return ()


def _top_level(tree: ast.Module) -> list[ast.stmt]:
    """Statements of the module's own scope, those inside `if`, `try` and their kind too."""
    found: list[ast.stmt] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        for child in children(waiting.pop()):
            if isinstance(child, ast.stmt):
                found.append(child)
            if isinstance(child, _HOLDING):
                waiting.append(child)
    found.sort(key=lambda node: node.lineno)
    return found


def _changed(nodes: list[ast.AST]) -> set[str]:
    """Names that some function changes: rebinds by `global`, or fills as a container."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Global(names=names):
                found.update(names)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                if attr in _CHANGES:
                    found.add(name)
    return found
