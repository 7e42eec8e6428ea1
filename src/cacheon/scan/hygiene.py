"""CG9xx and CG806: what a bundle's source may not reach for, wherever it stands in it.

The names are looked at in every line, reached or not, called or only mentioned: `f =
os.fork` is as good as a call. Nothing here follows values.
"""

import ast
from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.forbidden import FRAMES, entry_of, is_memory, is_owned
from cacheon.scan.project import Module, Project
from cacheon.scan.spelled import IMPORTERS, imported, spelled, text

_TAMED = frozenset({"torch.load", "torch.serialization.load"})
"""They unpickle or not, as they are called; an import of them alone does nothing."""

_LOOKED_AT = frozenset(
    {ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Subscript, ast.Call}
    | {ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Raise}
)
_FILLS = frozenset({"update", "setdefault", "__setitem__", "pop", "clear"})


def hygiene(project: Project) -> Iterator[tuple[Module, Fault]]:
    """Every fault of this kind in all sources. A name is told once for each line."""
    for module in project.modules.values():
        names = imported(module, project)
        own = _own_pids(module, names)
        told: set[tuple[str, int]] = set()
        excused: set[ast.AST] = set()
        for node in module.nodes:
            if type(node) not in _LOOKED_AT or node in excused:
                continue
            if isinstance(node, ast.Call) and _reads_weights(node, names):
                # Named only to be called so: the name stands deeper than the call.
                excused.add(node.func)
            if isinstance(node, ast.Call) and _is_suicide(node, names, own):
                faults = iter([Fault("CG902", "`os.kill` of its own process leaves it", node)])
                excused.add(node.func)
            elif isinstance(node, ast.Raise):
                faults = _raised(node)
            else:
                faults = _of(node, names)
            for fault in faults:
                key = (fault.rule, getattr(fault.node, "lineno", 0))
                if key not in told:
                    told.add(key)
                    yield module, fault


def _own_pids(module: Module, names: dict[str, str]) -> frozenset[str]:
    """Names that are given the process's own number."""
    return frozenset(
        node.targets[0].id
        for node in module.nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and _is_own_pid(node.value, names)
    )


def _is_own_pid(node: ast.expr, names: dict[str, str]) -> bool:
    return isinstance(node, ast.Call) and spelled(node.func, names) in ("os.getpid", "posix.getpid")


def _is_suicide(node: ast.Call, names: dict[str, str], own: frozenset[str]) -> bool:
    match node.args:
        case [first, *_] if spelled(node.func, names) in ("os.kill", "posix.kill"):
            return _is_own_pid(first, names) or (isinstance(first, ast.Name) and first.id in own)
    return False


def _raised(node: ast.Raise) -> Iterator[Fault]:
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if isinstance(raised, ast.Name) and raised.id == "SystemExit":
        yield Fault("CG902", "`SystemExit` leaves the process", node)


def _of(node: ast.AST, names: dict[str, str]) -> Iterator[Fault]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield from _named(alias.name, node)
        case ast.ImportFrom(level=0, module=str(origin), names=aliases):
            for alias in aliases:
                if f"{origin}.{alias.name}" not in _TAMED:
                    yield from _named(f"{origin}.{alias.name}", node)
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) | ast.Subscript():
            dotted = spelled(node, names)
            if dotted:
                yield from _named(dotted, node)
            elif isinstance(node, ast.Attribute) and node.attr in FRAMES:
                yield Fault("CG905", f"`{node.attr}` reaches the frames of whoever calls", node)
        case ast.Call(args=arguments, keywords=keywords) as call:
            yield from _called(call, spelled(call.func, names), arguments, keywords, names)
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from _replaced(target, names)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield from _replaced(target, names)


def _named(dotted: str, node: ast.AST) -> Iterator[Fault]:
    """A dotted name that begins with a forbidden one."""
    entry = entry_of(dotted)
    if entry is not None:
        rule, what = entry
        yield Fault(rule, f"`{dotted}` {what}", node)


def _called(
    node: ast.Call,
    dotted: str,
    arguments: list[ast.expr],
    keywords: list[ast.keyword],
    names: dict[str, str],
) -> Iterator[Fault]:
    literal = arguments[:1] and isinstance(arguments[0], ast.Constant)
    if dotted in IMPORTERS:
        if literal and isinstance(arguments[0], ast.Constant):
            yield from _named(str(arguments[0].value), node)
        else:
            yield Fault("CG907", f"`{dotted}` imports what only a run decides", node)
    elif dotted == "sys.modules.get" and literal:
        yield from _named(text(arguments[0]), node)
    if arguments and is_memory(text(arguments[0])):
        yield Fault("CG905", f"`{text(arguments[0])}` is the memory of a process", node)
    yield from _changes(node, dotted, names)
    if dotted == "builtins.getattr" and len(arguments) > 1:
        owner = spelled(arguments[0], names)
        if owner.partition(".")[0] in ("os", "sys", "builtins", "gc", "importlib"):
            match arguments[1]:
                case ast.Constant(value=str(name)):
                    yield from _named(f"{owner}.{name}", node)
                case _:
                    message = f"`getattr` on `{owner}` by a name that a run makes"
                    yield Fault("CG907", message, node)
    pickled = [k for k in keywords if k.arg == "allow_pickle"]
    if dotted == "numpy.load" and any(
        not isinstance(k.value, ast.Constant) or k.value.value for k in pickled
    ):
        yield Fault("CG908", "`numpy.load` with allow_pickle unpickles", node)


def _reads_weights(node: ast.Call, names: dict[str, str]) -> bool:
    """Whether it loads tensors and plain data only, whatever the file holds."""
    return spelled(node.func, names) in _TAMED and any(
        keyword.arg == "weights_only"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for keyword in node.keywords
    )


def _changes(node: ast.Call, dotted: str, names: dict[str, str]) -> Iterator[Fault]:
    """A call that replaces something: `setattr`, or `update` of a namespace."""
    match node:
        case ast.Call(func=ast.Attribute(attr="__setattr__"), args=[base, *_]):
            owner = spelled(base, names)
        case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _FILLS:
            owner = _namespace(base, names)
        case ast.Call(args=[base, *_]) if dotted in ("builtins.setattr", "builtins.delattr"):
            owner = spelled(base, names)
        case _:
            return
    if is_owned(owner):
        yield Fault("CG905", f"`{ast.unparse(node.func)}` replaces something of `{owner}`", node)


def _namespace(node: ast.expr, names: dict[str, str]) -> str:
    """What the mapping holds the attributes of: `vars(torch)`, `torch.__dict__`."""
    match node:
        case ast.Call(func=function, args=[base]) if spelled(function, names) == "builtins.vars":
            return spelled(base, names)
        case ast.Attribute(value=base, attr="__dict__"):
            return spelled(base, names)
    return ""


def _replaced(target: ast.expr, names: dict[str, str]) -> Iterator[Fault]:
    base = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
    if base is None:
        return
    owner = _namespace(base, names) or spelled(base, names)
    whole = f"{owner}.{target.attr}" if isinstance(target, ast.Attribute) else f"{owner}[…]"
    if is_owned(owner):
        yield Fault("CG905", f"`{whole}` is replaced", target)
