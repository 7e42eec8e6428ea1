"""CG9xx and CG806: what a bundle's source may not reach for, wherever it stands in it.

The names are looked at in every line, reached or not, called or only mentioned: `f =
os.fork` is as good as a call. Nothing here follows values.
"""

import ast
from collections.abc import Iterator

from cacheon.scan.detectors.fault import Fault
from cacheon.scan.project import Module, Project

_NAMES: dict[str, tuple[str, str]] = {
    "CG902": ("leaves the process", "os._exit os.abort sys.exit builtins.exit builtins.quit"),
    "CG904": (
        "starts a process",
        "subprocess os.fork os.forkpty os.system os.popen os.posix_spawn os.posix_spawnp "
        "os.spawnl os.spawnv os.spawnve os.spawnvp os.execv os.execve os.execvp os.execl "
        "multiprocessing concurrent.futures.ProcessPoolExecutor pty "
        "asyncio.create_subprocess_exec asyncio.create_subprocess_shell torch.multiprocessing",
    ),
    "CG905": (
        "reaches into the examination",
        "sys._getframe sys._current_frames sys.settrace sys.setprofile inspect.currentframe "
        "inspect.stack inspect.getouterframes inspect.trace gc.get_objects gc.get_referrers "
        "gc.get_referents gc.freeze gc.callbacks cacheon threading.Thread threading.Timer "
        "threading.settrace threading.setprofile _thread unittest.mock ptrace os.ptrace "
        "process_vm_readv os.kill os.killpg signal.pthread_kill",
    ),
    "CG906": (
        "uses the network",
        "socket socketserver urllib.request http.client http.server ftplib smtplib telnetlib "
        "xmlrpc requests httpx aiohttp urllib3 websockets paramiko",
    ),
    "CG907": (
        "runs code that is not in the source",
        "builtins.exec builtins.eval builtins.compile importlib.util.spec_from_file_location "
        "importlib.util.module_from_spec importlib.machinery "
        "importlib.reload imp runpy code codeop types.FunctionType types.CodeType zipimport "
        "marshal ctypes.CDLL ctypes.cdll ctypes.PyDLL ctypes.pythonapi cffi",
    ),
    "CG908": (
        "unpickles",
        "pickle cPickle _pickle dill cloudpickle joblib shelve torch.load "
        "torch.serialization.load torch.jit.load torch.package",
    ),
    "CG909": ("reads the environment", "os.environ os.getenv os.environb os.getenvb os.putenv"),
}
_TABLE = {name: (rule, what) for rule, (what, names) in _NAMES.items() for name in names.split()}
_TAMED = frozenset({"torch.load", "torch.serialization.load"})
"""They unpickle or not, as they are called; an import of them alone does nothing."""
_IMPORTERS = frozenset({"importlib.import_module", "builtins.__import__"})
_OWNED = ("torch", "triton", "builtins", "sys", "os", "gc", "numpy", "importlib")
_SETTINGS = ("torch.backends", "torch._dynamo.config", "torch._inductor.config")


_LOOKED_AT = frozenset(
    {ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Call}
    | {ast.Assign, ast.AugAssign, ast.AnnAssign}
)


def hygiene(project: Project) -> Iterator[tuple[Module, Fault]]:
    """Every fault of this kind in all sources. A name is told once for each line."""
    for module in project.modules.values():
        names = _imported(module, project)
        told: set[tuple[str, int]] = set()
        tame: set[ast.AST] = set()
        for node in module.nodes:
            if type(node) not in _LOOKED_AT or node in tame:
                continue
            if isinstance(node, ast.Call) and _reads_weights(node, names):
                # Named only to be called so: the name stands deeper than the call.
                tame.add(node.func)
            for fault in _of(node, names):
                key = (fault.rule, getattr(fault.node, "lineno", 0))
                if key not in told:
                    told.add(key)
                    yield module, fault


def _imported(module: Module, project: Project) -> dict[str, str]:
    """Local name → dotted name, of every import in the source, whatever its scope; those
    that lead to another source of the project are left out."""
    found: dict[str, str] = {}
    for node in module.nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    dotted = alias.name if alias.asname else alias.name.partition(".")[0]
                    if project.module(alias.name) is None:
                        found[alias.asname or dotted] = dotted
            case ast.ImportFrom(names=names, level=0, module=str(origin)):
                if project.module(origin) is None:
                    for alias in names:
                        found[alias.asname or alias.name] = f"{origin}.{alias.name}"
    return found


def _of(node: ast.AST, names: dict[str, str]) -> Iterator[Fault]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield from _named(alias.name, node)
        case ast.ImportFrom(level=0, module=str(origin), names=aliases):
            for alias in aliases:
                if f"{origin}.{alias.name}" not in _TAMED:
                    yield from _named(f"{origin}.{alias.name}", node)
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
            dotted = _dotted(node, names)
            if dotted:
                yield from _named(dotted, node)
        case ast.Call(args=arguments, keywords=keywords) as call:
            yield from _called(call, _dotted(call.func, names), arguments, keywords, names)
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _replaced(target, names)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield from _replaced(target, names)


def _named(dotted: str, node: ast.AST) -> Iterator[Fault]:
    """A dotted name that begins with a forbidden one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        entry = _TABLE.get(".".join(parts[:length]))
        if entry is not None:
            rule, what = entry
            yield Fault(rule, f"`{dotted}` {what}", node)
            return


def _called(
    node: ast.Call,
    dotted: str,
    arguments: list[ast.expr],
    keywords: list[ast.keyword],
    names: dict[str, str],
) -> Iterator[Fault]:
    literal = arguments[:1] and isinstance(arguments[0], ast.Constant)
    if dotted in _IMPORTERS:
        if literal and isinstance(arguments[0], ast.Constant):
            yield from _named(str(arguments[0].value), node)
        else:
            yield Fault("CG907", f"`{dotted}` imports what only a run decides", node)
    if dotted == "builtins.setattr" and arguments:
        owner = _dotted(arguments[0], names)
        if _is_owned(owner):
            yield Fault("CG905", f"`setattr` replaces something of `{owner}`", node)
    if dotted == "builtins.getattr" and len(arguments) > 1:
        owner = _dotted(arguments[0], names)
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
    return _dotted(node.func, names) in _TAMED and any(
        keyword.arg == "weights_only"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
        for keyword in node.keywords
    )


def _replaced(target: ast.expr, names: dict[str, str]) -> Iterator[Fault]:
    base = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
    if base is None:
        return
    owner = _dotted(base, names)
    whole = f"{owner}.{target.attr}" if isinstance(target, ast.Attribute) else f"{owner}[…]"
    if _is_owned(owner):
        yield Fault("CG905", f"`{whole}` is replaced", target)


def _is_owned(owner: str) -> bool:
    head = owner.partition(".")[0]
    settings = owner.startswith((*_SETTINGS, "os.environ"))
    return head in _OWNED and not settings and owner != "sys.path"


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    """The dotted name that an expression spells; "" where it spells none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    if not parts and node.id not in names:
        return f"builtins.{node.id}" if node.id in _BUILTINS else ""
    head = names.get(node.id, "")
    return ".".join([head, *reversed(parts)]) if head else ""


_BUILTINS = frozenset("exec eval compile exit quit __import__ setattr getattr".split())
