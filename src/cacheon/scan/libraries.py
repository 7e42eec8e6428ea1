"""The scan of any Python source: nobody says which functions are captured, so those are
judged that take tensors by their annotations, or launch a kernel themselves."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial

from cacheon.scan import cuda_text
from cacheon.scan.events import Root
from cacheon.scan.findings import ScanFinding
from cacheon.scan.project import Module, Project, place_of
from cacheon.scan.scanning import Scan, Start
from cacheon.scan.triton_kernels import Definition, is_kernel
from cacheon.scan.values import HOST, UNKNOWN, Group, Host, Tensor, Value

_ASIDE = frozenset(
    "plan prepare reference ref references naive golden autotune tune tuning tuner profile "
    "profiler bench benchmark benchmarks validate validator verify verifier check compare test "
    "tests testing debug trace template templates init reset setup warmup calibrate calibration "
    "export load save convert compile build create random cpu host docs examples tools".split()
)
"""Words in the name of a function, a file or a directory: it runs beside the replayed path
(before it, or to test or tune it), unless something on that path calls it."""
_WORD = re.compile(r"[a-z]+")
_HOST_TYPES = frozenset({"int", "float", "bool", "str"})
_ON_HOST = ("cpu", "host")
"""In the name of a parameter: its memory is the host's, whatever its type says."""


def scan_sources(
    modules: Sequence[Module], without: frozenset[str] = frozenset()
) -> tuple[ScanFinding, ...]:
    """Every finding, ignored ones too. `without`: rules that are switched off."""
    return walked(modules, without).findings()


def walked(modules: Sequence[Module], without: frozenset[str] = frozenset()) -> Scan:
    """The scan of these sources, with the findings and what could not be walked to its end."""
    project = Project(modules)
    scan = Scan(project, without)
    # A file that is asked about alone is judged whatever it is called.
    judged = [m for m in modules if len(modules) == 1 or not _words(m.path) & _ASIDE]
    scan.walk([start for module in judged for start in _starts(module)])
    for module in modules:
        scan.add_all(cuda_text.in_strings(module))
    scan.comments()
    return scan


def _starts(module: Module) -> Iterator[Start]:
    for owner, node in _functions(module):
        # What is private is judged where it is called: its callers know what they hand on.
        public = not node.name.startswith("_") or node.name.startswith("__")
        judged = (public and _takes_tensors(node)) or _launches(node, module)
        if is_kernel(node) or _words(node.name) & _ASIDE or not judged:
            continue
        name = f"{owner}.{node.name}" if owner else node.name
        first = int(bool(owner) and not _is_static(node))
        root = Root(path=module.path, name=name, line=place_of(node), phase="replay")
        yield Start(root, name, partial(_arguments, node, first), bound=bool(first))


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower()))


def _functions(module: Module) -> Iterator[tuple[str, Definition]]:
    for node in module.functions.values():
        yield "", node
    for name, definition in module.classes.items():
        methods = (n for n in definition.body if isinstance(n, ast.FunctionDef))
        yield from ((name, method) for method in methods)


def _parameters(node: Definition) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args]


def _takes_tensors(node: Definition) -> bool:
    return any(_is_tensor(each.annotation) for each in _parameters(node))


def _launches(node: Definition, module: Module) -> bool:
    for child in ast.walk(node):
        match child:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=name))) if module.is_kernel(name):
                return True
    return False


def _is_static(node: Definition) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _arguments(node: Definition, first: int, _: dict[str, Value]) -> list[Value]:
    """What it is called with; `first` is 1 for a method, whose object comes by itself."""
    return [_argument(each) for each in _parameters(node)[first:]]


def _argument(parameter: ast.arg) -> Value:
    name, annotation = parameter.arg, parameter.annotation
    itself = frozenset({name})
    if _is_tensor(annotation):
        on_host = any(part in name.lower() for part in _ON_HOST)
        return Tensor(place="host" if on_host else "device", shares=itself, holds=itself)
    match annotation:
        case ast.Name(id=kind) if kind in _HOST_TYPES:
            return HOST
        case ast.Attribute(attr="device"):
            return Host(topics=frozenset({"device"}))
        case ast.Subscript(value=ast.Name(id="list" | "List" | "Sequence"), slice=inner) if (
            _is_tensor(inner)
        ):
            return Group(every=Tensor(shares=itself, holds=itself))
    return UNKNOWN


def _is_tensor(annotation: ast.expr | None) -> bool:
    """Whether an annotation says a tensor of torch, or one or None."""
    match annotation:
        case ast.Name(id="Tensor") | ast.Attribute(value=ast.Name(id="torch"), attr="Tensor"):
            return True
        case ast.Constant(value="Tensor" | "torch.Tensor"):
            return True
        case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
            return _is_tensor(left)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _is_tensor(inner)
    return False
