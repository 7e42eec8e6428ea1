"""Methods, of tensors, of groups and of instances; and launches of Triton kernels."""

import ast
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from cacheon.scan import rank_numbers, results, torch_api
from cacheon.scan.effects import RECEIVES, SENDS
from cacheon.scan.events import Called, Launched, Streamed
from cacheon.scan.expressions import Expressions
from cacheon.scan.shares import LESS, constant, is_less
from cacheon.scan.triton_kernels import overshoots, parameters, stored
from cacheon.scan.values import (
    HOST,
    LAZY,
    NOTHING,
    UNKNOWN,
    Group,
    Host,
    Kernel,
    Made,
    Tensor,
    Value,
    every,
    is_live,
    join,
    pruned,
    shared,
)

Arguments = Sequence[Value]
Keywords = Mapping[str, Value]


class Methods(Expressions):
    def pass_on(self, *values: Value) -> None:
        """Code that is not seen is given these: it may do anything with them."""
        for name in frozenset().union(*map(shared, values)) if values else ():
            self.affect("pass", name)

    def communicate(self, name: str) -> None:
        """A function of `torch.distributed`, or a method of a group, is called."""
        self.affect("collective", name)
        if name.rpartition(".")[2] in RECEIVES and self.project.names_any(SENDS):
            self.affect("send")

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
            case Host():
                for value in (*values, *keywords.values()):
                    self.show(node, value)
                return HOST
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
            size = self.size_of(receiver)
            asked = node.args[0] if isinstance(node, ast.Call) and node.args else None
            return self.size_in(size, constant(asked)) if asked is not None else size
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
        if attr == "narrow" and isinstance(node, ast.Call) and len(node.args) == len(values) == 3:
            dims, dim = self.dims_of(receiver.shares), constant(node.args[0])
            starts_late = (constant(node.args[1]) or 0) > 0
            if dims and dim is not None:
                short = is_less(values[2], receiver.shares, dim % dims)
                if starts_late or short:
                    part = LESS + ", ".join(map(ast.unparse, node.args))
                    return replace(receiver, part=part, fresh=False)
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
                return self.inner_state(found, group.held) if group.held else found
            case "get" | "pop" | "popleft" | "popitem":
                if attr != "get" and group.held:
                    self.affect("take", group.held)
                return replace(inner, held=inner.held or group.held)
            case "clear" if group.held:
                self.affect("drop", group.held)
            case "items":
                return Group(every=Group(items=(HOST, inner)), held=group.held)
            case "values":
                return replace(group, items=None, every=inner, keys=())
            case "copy":
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
            case torch_api.PROCESS_GROUP, "rank":
                return rank_numbers.NUMBER
            case torch_api.PROCESS_GROUP, "size":
                return rank_numbers.COUNT
            case torch_api.PROCESS_GROUP, _ if attr in torch_api.OF_A_GROUP:
                self.communicate(name)
                self.pass_on(*values)
                return UNKNOWN
            case _:
                return UNKNOWN
        return NOTHING

    def _launch(self, node: ast.AST, kernel: Kernel, values: Arguments, keywords: Keywords) -> None:
        definition = self.project.modules[kernel.path].functions[kernel.name]
        bound = dict(zip(parameters(definition), values, strict=False)) | dict(keywords)
        past = overshoots(definition, node)
        self.emit(Launched(node, self.context, kernel.name, bound, past))
        writes = stored(definition)
        for name, value in bound.items():
            if name in writes:
                self.write(node, value, f"kernel {kernel.name}")
            elif not is_live(value):
                self.pass_on(value)


def is_process_group(value: Value) -> bool:
    return isinstance(value, Made) and value.name == torch_api.PROCESS_GROUP


def stream_of(value: Value) -> str:
    """Which stream a value is; "" where that is not known."""
    if isinstance(value, Made) and value.name in (torch_api.STREAM, "torch.cuda.stream"):
        return value.held or value.which
    return ""
