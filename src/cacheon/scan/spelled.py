"""The dotted names that imports bind and expressions spell, without following values."""

import ast

from cacheon.scan.forbidden import BUILTINS, TABLE
from cacheon.scan.project import Module, Project

IMPORTERS = frozenset({"importlib.import_module", "builtins.__import__"})


def imported(module: Module, project: Project) -> dict[str, str]:
    """Local name → dotted name, of every import in the source, whatever its scope; those
    that lead to another source of the project are left out."""
    found: dict[str, str] = {}
    origins: list[str] = []
    for node in module.nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                    if project.module(alias.name) is None:
                        found[alias.asname or dotted] = dotted
            case ast.ImportFrom(names=names, level=0, module=str(origin)):
                if project.module(origin) is None:
                    origins += [origin for alias in names if alias.name == "*"]
                    for alias in names:
                        found[alias.asname or alias.name] = f"{origin}.{alias.name}"
    if origins:
        own = _bound(module.nodes)
        for origin in origins:
            found |= {name: full for name, full in _all_of(origin).items() if name not in own}
    return found


def _all_of(origin: str) -> dict[str, str]:
    """The forbidden names among those that `from origin import *` binds."""
    home = "os" if origin == "posix" else origin
    split = ((full, *full.rpartition(".")[::2]) for full in TABLE)
    return {name: full for full, head, name in split if head == home and name not in BUILTINS}


def _bound(nodes: list[ast.AST]) -> set[str]:
    """The names that a source binds itself, wherever."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def spelled(node: ast.AST, names: dict[str, str]) -> str:
    """The dotted name that an expression spells; "" where it spells none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    match node:
        case ast.Name(id="__builtins__"):
            head = "builtins"
        case ast.Name(id=name):
            plain = f"builtins.{name}" if not parts and name in BUILTINS else ""
            head = names.get(name, plain)
        case ast.Subscript(value=base, slice=ast.Constant(value=str(name))):
            head = _item(spelled(base, names), name)
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
            head = name if spelled(function, names) in IMPORTERS else ""
        case _:
            head = ""
    return ".".join([head, *reversed(parts)]) if head else ""


def _item(base: str, name: str) -> str:
    """What `sys.modules["torch"]` is, and `__builtins__["exec"]`."""
    if base == "sys.modules":
        return name
    return f"builtins.{name}" if base in ("builtins", "builtins.__dict__") else ""


def text(node: ast.AST) -> str:
    """A text that stands in the source; what a run puts into it is left as `?`."""
    match node:
        case ast.Constant(value=str(whole)):
            return whole
        case ast.JoinedStr(values=values):
            return "".join(text(each) for each in values)
        case ast.FormattedValue():
            return "?"
    return ""
