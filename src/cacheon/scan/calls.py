"""Calls: of torch, of outside code, of methods, of Triton kernels."""

import ast

from msgspec.structs import replace

from cacheon.scan import builtin_calls, facts, rank_numbers, results, torch_api
from cacheon.scan.events import Called
from cacheon.scan.methods import Arguments, Keywords, Methods, is_process_group, stream_of
from cacheon.scan.shares import stepped
from cacheon.scan.values import (
    EAGER,
    HOST,
    NOTHING,
    UNKNOWN,
    UNSEEN,
    Class,
    Either,
    Function,
    Group,
    Host,
    Instance,
    Kernel,
    Made,
    Method,
    Partial,
    Place,
    Super,
    Symbol,
    Tensor,
    Unknown,
    Value,
    bound,
    joined,
    shared,
    spread_out,
    tensors,
)

LEAVING = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})
_SAME = "cacheon.same"
"""A decorator or a wrapper that gives back what it is given."""
_WRAPPERS = frozenset(
    {
        "torch.compile",
        "torch.no_grad",
        "torch.inference_mode",
        "torch.compiler.disable",
        "contextlib.contextmanager",
        _SAME,
    }
)
_OWN_LEVEL = 2
"""Dots in `torch.distributed.all_reduce`."""
_LOOKS = frozenset({"len", "isinstance", "type", "id", "hasattr", "callable"})
"""They ask nothing of a tensor's contents, and use none of its memory."""


class Calls(Methods):
    def call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = None
            if node.func.attr in torch_api.QUESTIONS:
                base = self.metadata(node.func.value)
            if base is None:
                base = self.value(node.func.value)
            target = self.called_member(base, node.func.attr)
        else:
            target = self.value(node.func)
        looks = isinstance(target, Symbol) and target.name.removeprefix("builtins.") in _LOOKS
        values, keywords = self._arguments(node, looks)
        return self.apply(node, target, values, keywords)

    def called_member(self, base: Value, attr: str) -> Value:
        if isinstance(base, Group):
            return Method(receiver=base, attr=attr)
        if isinstance(base, Unknown) and attr == "get" and not base.held:
            # A container that is not seen is asked whether it has something.
            return replace(base, held=UNSEEN)
        return self.member(base, attr)

    def _arguments(self, node: ast.Call, looks: bool) -> tuple[list[Value], dict[str, Value]]:
        values: list[Value] = []
        for each in node.args:
            value = (self.metadata(each) if looks else None) or self.value(each)
            if isinstance(each, ast.Starred):
                values.extend(value.items if isinstance(value, Group) and value.items else ())
            else:
                values.append(value)
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        for keyword in node.keywords:
            if keyword.arg is None:
                spread = self.value(keyword.value)
                named |= spread_out(spread) or {results.SPREAD: spread}
        return values, named

    def apply(self, node: ast.AST, target: Value, values: Arguments, keywords: Keywords) -> Value:
        """Call a value."""
        match target:
            case Symbol(name=name):
                return self._outside(node, name, values, keywords)
            case Method(receiver=receiver, attr=attr):
                return self.method(node, receiver, attr, values, keywords)
            case Function():
                return self.invoke(node, target, values, keywords)
            case Partial(target=inner, arguments=first, keywords=named):
                return self.apply(node, inner, [*first, *values], dict(named) | dict(keywords))
            case Either(options=options):
                return joined([self.invoke(node, each, values, keywords) for each in options])
            case Class(path=path, name=name):
                instance = Instance(path=path, name=name)
                begin = self.member(instance, "__init__")
                if isinstance(begin, Function):
                    self.invoke(node, begin, values, keywords)
                else:
                    self._filled(target, values, keywords)
                return instance
            case Instance() if (called := self.called_of(target)) is not None:
                return self.apply(node, called, values, keywords)
            case Kernel(gridded=True):
                self._launch(node, target, values, keywords)
                return NOTHING
        self.pass_on(*values, *keywords.values())
        return replace(UNKNOWN, held=target.held)

    def _filled(self, made: Class, values: Arguments, keywords: Keywords) -> None:
        """An instance of a record has what it was given."""
        fields = self.fields_of(made)
        given = dict(zip(fields, values, strict=False)) | dict(keywords)
        for name in filter(given.__contains__, fields):
            self.fill(f"{made.path}:{made.name}.{name}", "name", given[name])

    def _super(self, values: Arguments) -> Value:
        match values:
            case [Class(path=path, name=name), instance, *_]:
                return Super(path=path, name=name, instance=instance)
        owner, of = self.frame.owner, self.frame.instance
        if owner is None or of is None:
            return UNKNOWN
        return Super(path=owner.path, name=owner.name, instance=of)

    # Outside functions

    def _outside(self, node: ast.AST, name: str, values: Arguments, keywords: Keywords) -> Value:
        self.emit(Called(node, self.context, name, tuple(values), keywords))
        unbound = name.removeprefix("torch.Tensor.")
        if unbound != name and values and isinstance(values[0], Tensor):
            return self.method(node, values[0], unbound, values[1:], keywords)
        if name in LEAVING:
            self.left = True
            return NOTHING
        if name in torch_api.CAPTURE_QUESTIONS:
            return facts.asked_capture()
        if name == "functools.partial":
            return self._partial(node, values, keywords)
        if name == "functools.wraps":
            return Symbol(name=_SAME)
        if name == "torch.cuda.is_available":
            # What is defined for want of a device is not what a graph is made of.
            defines = self.phase == "load"
            return Host(constant=True, known=True) if defines else Host(unless=frozenset({EAGER}))
        if name == torch_api.GRAPHED or (name == "torch.compile" and _is_graphed(keywords)):
            match values:
                case [Function() as function, *_]:
                    return replace(function, graphed=True)
            return Symbol(name=torch_api.GRAPHED)
        if name in _WRAPPERS:
            return values[0] if values else Symbol(name=_SAME)
        if name in torch_api.CLASSES:
            return Made(name=torch_api.CLASSES[name], which=self.place(node))
        if name == "collections.deque" and len(values) < 2 and not keywords:
            # Without a length it holds whatever it is given.
            return builtin_calls.result("list", values, keywords, self.one_of)
        if name.endswith(torch_api.DESCRIPTORS) or ".TensorDescriptor." in name:
            self.pass_on(*values)
            return Made(name=name, shares=frozenset().union(*map(shared, values)))
        if name.startswith("builtins.") or name in builtin_calls.NAMES:
            return self._builtin(node, name, values, keywords)
        short = torch_api.function_of_tensors(name)
        if short:
            return self._torch(node, short, values, keywords)
        return self._library(node, name, values, keywords)

    def _partial(self, node: ast.AST, values: Arguments, keywords: Keywords) -> Value:
        given = len(node.args) if isinstance(node, ast.Call) else 1
        if len(values) < max(given, 1):
            # How many arguments a star stands for is not known.
            self.pass_on(*values, *keywords.values())
            return UNKNOWN
        return bound(values[0], values[1:], keywords)

    def place(self, node: ast.AST) -> str:
        return f"{self.frame.module.path}:{getattr(node, 'lineno', 0)}"

    def _builtin(self, node: ast.AST, name: str, values: Arguments, keywords: Keywords) -> Value:
        short = name.removeprefix("builtins.")
        match short, values:
            case "getattr", [base, Host(constant=str(attr)), *_]:
                return self.called_member(base, attr)
            case "setattr", [base, Host(constant=str(attr)), value]:
                self._set_attribute(node, base, attr, value)
                return NOTHING
            case (("importlib.import_module" | "__import__"), [Host(constant=str(dotted)), *_]):
                return self.imported(dotted)
            case "super", _:
                return self._super(values)
            case "map", [function, *iterables]:
                return Group(
                    every=self.apply(node, function, list(map(self.one_of, iterables)), {})
                )
        if short == "range":
            result = builtin_calls.result(short, values, keywords, self.one_of)
            return replace(result, topics=stepped(node))
        return builtin_calls.result(short, values, keywords, self.one_of)

    def _torch(self, node: ast.AST, short: str, values: Arguments, keywords: Keywords) -> Value:
        if short == "device" and values and isinstance(values[0], Host):
            known = isinstance(values[0].constant, str)
            return values[0] if known else Host(topics=frozenset({"device"}))
        if short in torch_api.HOST_ANSWERS or short in torch_api.QUESTIONS:
            return HOST
        if short in torch_api.CREATIONS:
            return results.created(keywords, "host")
        if short in torch_api.LIKES:
            return results.created(keywords, _place(values))
        if short in torch_api.MAKERS:
            return results.made(short, values, keywords)
        if short in torch_api.READS and values:
            return Host(holds=frozenset().union(*(v.holds for v in values)))
        if not any(tensors(v) for v in (*values, *keywords.values())):
            self.pass_on(*values)
            return UNKNOWN
        return self._calculated(node, short, values, keywords)

    def _library(self, node: ast.AST, name: str, values: Arguments, keywords: Keywords) -> Value:
        match name:
            case "torch.cuda.current_stream":
                which = self.streams[-1] if self.streams else torch_api.CURRENT
                return Made(name=torch_api.STREAM, which=which)
            case "torch.cuda.default_stream":
                return Made(name=torch_api.STREAM, which=torch_api.DEFAULT)
            case "torch.cuda.stream" | "torch.cuda.StreamContext" if values:
                return Made(name="torch.cuda.stream", which=stream_of(values[0]))
            case "torch.distributed.get_rank":
                return rank_numbers.NUMBER
            case "torch.distributed.get_world_size":
                return rank_numbers.COUNT
        if name.startswith("torch.distributed."):
            self.communicate(name)
            if name.count(".") == _OWN_LEVEL:
                # torch's own collectives do with a group what they say, and no more.
                values = [value for value in values if not is_process_group(value)]
                keywords = {k: v for k, v in keywords.items() if not is_process_group(v)}
        elif name.startswith("ctypes."):
            self.affect("foreign", name)
        self.pass_on(*values, *keywords.values())
        if name.startswith(("torch.cuda.", "triton.", "math.", "os.", "sys.")):
            return HOST
        return UNKNOWN


def _is_graphed(keywords: Keywords) -> bool:
    """Whether `torch.compile` is asked for graphs of its own."""
    options = spread_out(keywords.get("options", NOTHING))
    match keywords.get("mode"):
        case Host(constant="reduce-overhead"):
            return True
    return results.is_true(options.get("triton.cudagraphs"))


def _place(values: Arguments) -> Place:
    return values[0].place if values and isinstance(values[0], Tensor) else ""
