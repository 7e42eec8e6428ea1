"""Calls: of torch, of outside code, of methods, of Triton kernels."""

import ast
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from cacheon.scan import builtin_calls, facts, results, torch_api
from cacheon.scan.events import Called, Launched, Streamed
from cacheon.scan.expressions import Expressions
from cacheon.scan.members import size_of
from cacheon.scan.triton_kernels import parameters, stored
from cacheon.scan.values import (
    HOST,
    LAZY,
    NOTHING,
    UNKNOWN,
    Class,
    Function,
    Group,
    Host,
    Instance,
    Kernel,
    Made,
    Method,
    Place,
    Symbol,
    Tensor,
    Unknown,
    Value,
    every,
    is_live,
    join,
    pruned,
    shared,
    tensors,
)

Arguments = Sequence[Value]
Keywords = Mapping[str, Value]
LEAVING = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit", "os.abort"})
_UNSEEN = "?:?"
_SAME = "cacheon.same"
"""A decorator or a wrapper that gives back what it is given."""
_WRAPPERS = frozenset(
    {
        "torch.compile",
        "torch.no_grad",
        "torch.inference_mode",
        "torch.compiler.disable",
        "functools.wraps",
        "functools.partial",
        "contextlib.contextmanager",
        _SAME,
    }
)
_LOOKS = frozenset({"len", "isinstance", "type", "id", "hasattr", "callable"})
"""They ask nothing of a tensor's contents, and use none of its memory."""


class Calls(Expressions):
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
            return replace(base, held=_UNSEEN)
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
                self.value(keyword.value)
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
            case Class(path=path, name=name):
                instance = Instance(path=path, name=name)
                begin = self.member(instance, "__init__")
                if isinstance(begin, Function):
                    self.invoke(node, begin, values, keywords)
                return instance
            case Kernel(gridded=True):
                self._launch(node, target, values, keywords)
                return NOTHING
        self.pass_on(*values, *keywords.values())
        return replace(UNKNOWN, held=target.held)

    def pass_on(self, *values: Value) -> None:
        """Code that is not seen is given these: it may do anything with them."""
        for name in frozenset().union(*map(shared, values)) if values else ():
            self.affect("pass", name)

    # Outside functions

    def _outside(self, node: ast.AST, name: str, values: Arguments, keywords: Keywords) -> Value:
        self.emit(Called(node, self.context, name, tuple(values), keywords))
        if name in LEAVING:
            self.left = True
            return NOTHING
        if name in torch_api.CAPTURE_QUESTIONS:
            return facts.asked_capture()
        if name in _WRAPPERS:
            return values[0] if values else Symbol(name=_SAME)
        if name in torch_api.CLASSES:
            return Made(name=torch_api.CLASSES[name], which=self.place(node))
        if name.endswith(torch_api.DESCRIPTORS) or ".TensorDescriptor." in name:
            self.pass_on(*values)
            return Made(name=name, shares=frozenset().union(*map(shared, values)))
        if name.startswith("builtins.") or name in builtin_calls.NAMES:
            return self._builtin(node, name, values, keywords)
        short = torch_api.function_of_tensors(name)
        if short:
            return self._torch(node, short, values, keywords)
        return self._library(node, name, values, keywords)

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
            case "map", [function, *iterables]:
                return Group(
                    every=self.apply(node, function, list(map(self.one_of, iterables)), {})
                )
        return builtin_calls.result(short, values, keywords, self.one_of)

    def _torch(self, node: ast.AST, short: str, values: Arguments, keywords: Keywords) -> Value:
        if short == "device" and values and isinstance(values[0], Host):
            known = isinstance(values[0].constant, str)
            return values[0] if known else Host(topics=frozenset({"device"}))
        if short in torch_api.HOST_ANSWERS:
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

    def _calculated(
        self, node: ast.AST, short: str, operands: Arguments, keywords: Keywords
    ) -> Value:
        """A function or a method of tensors."""
        result = results.computed(short, operands, keywords)
        if "out" in keywords:
            self.write(node, keywords["out"], "out=", result)
            return keywords["out"]
        in_place = short.endswith("_") and not short.endswith("__")
        if operands and (in_place or results.is_true(keywords.get("inplace"))):
            source = operands[1] if len(operands) > 1 else None
            self.write(node, operands[0], short, source)
            return operands[0]
        return result

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
                return Host(topics=frozenset({"rank"}))
        if name.startswith("torch.distributed."):
            self.affect("collective", name)
        elif name.startswith("ctypes."):
            self.affect("foreign", name)
        self.pass_on(*values, *keywords.values())
        if name.startswith(("torch.cuda.", "triton.", "math.", "os.", "sys.")):
            return HOST
        return UNKNOWN

    # Methods

    def method(
        self, node: ast.AST, receiver: Value, attr: str, values: Arguments, keywords: Keywords
    ) -> Value:
        match receiver:
            case Tensor():
                return self._of_tensor(node, receiver, attr, values, keywords)
            case Group():
                return self._of_group(node, receiver, attr, values)
            case Made():
                return self._of_made(node, receiver, attr, values, keywords)
            case Kernel() if attr == "run":
                self._launch(node, receiver, values, keywords)
        return UNKNOWN

    def _of_tensor(
        self, node: ast.AST, receiver: Tensor, attr: str, values: Arguments, keywords: Keywords
    ) -> Value:
        event = Called(
            node, self.context, f"Tensor.{attr}", tuple(values), keywords, receiver=receiver
        )
        self.emit(event)
        if attr == "data_ptr":
            return Host(addresses=receiver.shares, held=receiver.held)
        if attr in torch_api.QUESTIONS:
            return size_of(receiver)
        if attr == "tolist":
            return Group(every=Host(holds=receiver.holds), holds=receiver.holds)
        if attr in torch_api.READS:
            return Host(holds=receiver.holds)
        if attr in ("to", "cpu", "cuda", "pin_memory", "type_as"):
            return results.moved(receiver, attr, values, keywords)
        if attr in torch_api.NEWS:
            return results.created(keywords, receiver.place)
        if attr == "new_tensor":
            return results.created(keywords, receiver.place)
        if attr in ("requires_grad_", "record_stream", "retain_grad"):
            return receiver
        return self._calculated(node, attr, [receiver, *values], keywords)

    def _of_group(self, node: ast.AST, group: Group, attr: str, values: Arguments) -> Value:
        inner = every(group)
        match attr:
            case "append" | "add" | "appendleft" | "insert" | "extend" | "update":
                value = values[-1] if values else UNKNOWN
                one = self.one_of(value) if attr in ("extend", "update") else value
                if group.held:
                    self.keep(node, group.held, "item", one)
                else:
                    self._grow(node, group, one)
                return NOTHING
            case "setdefault" if len(values) == 2:
                if group.held:
                    with self.knowing(frozenset({LAZY})):
                        self.keep(node, group.held, "key", values[1], values[0])
                found = join(inner, values[1])
                return self.from_state(found, group.held) if group.held else found
            case "get" | "pop" | "popleft" | "popitem":
                if attr != "get" and group.held:
                    self.affect("take", group.held)
                return replace(inner, held=inner.held or group.held)
            case "items":
                return Group(every=Group(items=(HOST, inner)), held=group.held)
            case "values" | "copy":
                return replace(group, items=None, every=inner)
        return Host(held=group.held)

    def _grow(self, node: ast.AST, group: Group, value: Value) -> None:
        """A container of this call's own got an item."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name() as owner)):
                grown = Group(every=join(every(group), value), shares=group.shares)
                self.assign(owner, pruned(grown))

    def _of_made(
        self, node: ast.AST, made: Made, attr: str, values: Arguments, keywords: Keywords
    ) -> Value:
        name = f"{made.name}.{attr}"
        self.emit(Called(node, self.context, name, tuple(values), keywords, receiver=made))
        mine, other = stream_of(made), stream_of(values[0]) if values else ""
        match made.name, attr:
            case torch_api.STREAM, "wait_stream" | "wait_event":
                on = other if attr == "wait_stream" else ""
                self.emit(Streamed(node, self.context, "wait", mine, on))
            case torch_api.EVENT, "wait":
                here = self.streams[-1] if self.streams else torch_api.CURRENT
                self.emit(Streamed(node, self.context, "wait", other or here))
            case torch_api.STREAM, "record_event":
                return Made(name=torch_api.EVENT, which=mine)
            case _:
                return UNKNOWN
        return NOTHING

    # Kernels

    def _launch(self, node: ast.AST, kernel: Kernel, values: Arguments, keywords: Keywords) -> None:
        definition = self.project.modules[kernel.path].functions[kernel.name]
        bound = dict(zip(parameters(definition), values, strict=False)) | dict(keywords)
        self.emit(Launched(node, self.context, kernel.name, bound))
        writes = stored(definition)
        for name, value in bound.items():
            if name in writes:
                self.write(node, value, f"kernel {kernel.name}")
            elif not is_live(value):
                self.pass_on(value)


def stream_of(value: Value) -> str:
    """Which stream a value is; "" where that is not known."""
    if isinstance(value, Made) and value.name in (torch_api.STREAM, "torch.cuda.stream"):
        return value.held or value.which
    return ""


def _place(values: Arguments) -> Place:
    return values[0].place if values and isinstance(values[0], Tensor) else ""
