"""Subscripts and assignments: what is read from a place, and what is put there."""

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from cacheon.scan.events import Indexed, Wrote
from cacheon.scan.members import Members
from cacheon.scan.shares import constant, taken
from cacheon.scan.values import (
    HOST,
    UNKNOWN,
    UNSEEN,
    Class,
    Function,
    Group,
    Host,
    Instance,
    Kernel,
    Symbol,
    Tensor,
    Value,
    every,
    join,
    pruned,
    spread_out,
    tensors,
    unsure,
)


class Places(Members):
    def subscript(self, node: ast.Subscript) -> Value:
        base, index, sliced = self.indexed(node)
        self.emit(Indexed(node, self.context, base, index, sliced))
        match base:
            case Tensor():
                return self._part(base, node, index, sliced)
            case Group():
                return self._item(base, node.slice)
            case Kernel():
                return replace(base, gridded=True)
            case Host():
                return self.size_in(base, constant(node.slice))
            case Symbol() | Class():
                return base
        return replace(UNKNOWN, held=base.held)

    def indexed(self, node: ast.Subscript) -> tuple[Value, tuple[Value, ...], tuple[Value, ...]]:
        """The base, its indices, and the bounds of its slices."""
        base = self.value(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index: list[Value] = []
        sliced: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                bounds = (part.lower, part.upper, part.step)
                sliced.extend(self.value(bound) for bound in bounds if bound is not None)
            else:
                index.append(self.value(part))
        return base, tuple(index), tuple(sliced)

    def _part(
        self,
        base: Tensor,
        node: ast.Subscript,
        index: tuple[Value, ...],
        sliced: tuple[Value, ...],
        stored: bool = False,
    ) -> Tensor:
        gathers = any(isinstance(value, Tensor | Group) for value in index)
        holds = base.holds.union(*(value.holds for value in index))
        if gathers and not stored:
            return Tensor(place=base.place, mask=base.mask, holds=holds, fresh=True)
        dims = self.dims_of(base.shares)
        less = dims and taken(node.value, node.slice, index, sliced, base.shares, dims)
        part = less or strided(node.slice) or ("some" if base.part == "" else base.part)
        return replace(base, holds=holds, part=part, fresh=False)

    def _item(self, base: Group, node: ast.expr) -> Value:
        named = spread_out(base)
        match node:
            case ast.Constant(value=str(name)) if name in named:
                return named[name]
            case _ if named:
                pass
            case ast.Slice():
                return replace(base, items=None, every=every(base))
            case ast.Constant(value=int(place)) if base.items and place < len(base.items):
                return base.items[place]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(place))) if (
                base.items and 0 < place <= len(base.items)
            ):
                return base.items[-place]
        found = every(base)
        return replace(found, held=found.held or base.held)

    # Stores

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                if name in self.frame.globals:
                    self.keep(target, self._holder(name), "name", value)
                else:
                    self.frame.env[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value)
            case ast.Starred(value=inner):
                self.assign(inner, Group(every=value))
            case ast.Subscript():
                self.store(target, value)
            case ast.Attribute(value=inner, attr=attr):
                self._set_attribute(target, self.value(inner), attr, value)

    def _holder(self, name: str) -> str:
        return f"{self.frame.module.path}:{name}"

    def _unpack(self, targets: Sequence[ast.expr], value: Value) -> None:
        items = value.items if isinstance(value, Group) else None
        if isinstance(value, Host) and not any(isinstance(t, ast.Starred) for t in targets):
            sizes = Host(holds=value.holds, topics=value.topics - unsure(value.topics))
            items = tuple(self.size_in(sizes, dim) for dim in range(len(targets)))
        if items is None or len(items) != len(targets):
            items = (self.one_of(value),) * len(targets)
        for target, item in zip(targets, items, strict=True):
            self.assign(target, item)

    def store(self, node: ast.Subscript, value: Value) -> None:
        """`base[index] = value`."""
        base, index, sliced = self.indexed(node)
        if isinstance(base, Tensor):
            self.emit(Indexed(node, self.context, base, index, sliced, value))
            whole = _is_whole(node.slice)
            part = base if whole else self._part(base, node, index, sliced, stored=True)
            masked = any(isinstance(value, Tensor) and value.mask for value in index)
            self.write(node, part, "[mask] =" if masked else "[…] =", value)
        elif base.held not in ("", UNSEEN):
            key = index[0] if index else HOST
            grows = _is_length_of(node.slice, node.value)
            self.keep(node, base.held, "item" if grows else "key", value, key)
        elif isinstance(node.value, ast.Name) and isinstance(base, Group):
            grown = pruned(Group(every=join(every(base), value), shares=base.shares))
            self.assign(node.value, grown)

    def _set_attribute(self, node: ast.AST, base: Value, attr: str, value: Value) -> None:
        match base:
            case Function(path=path, name=name) | Class(path=path, name=name):
                self.keep(node, f"{path}:{name}.{attr}", "name", value)
            case Instance(path=path, name=name, held=held):
                holder = f"{path}:{name}.{attr}"
                if held:
                    self.keep(node, holder, "name", value)
                else:
                    self.fill(holder, "name", value)
            case Tensor() if attr == "data":
                self.write(node, base, ".data =", value)

    def write(self, node: ast.AST, target: Value, how: str, source: Value | None = None) -> None:
        """Memory is written in place."""
        for tensor in tensors(target):
            self.emit(Wrote(node, self.context, tensor, how, source))
            # A kernel may go on from where a part begins.
            part = "some" if tensor.part and how.startswith("kernel ") else tensor.part
            for name in tensor.shares:
                self.affect("write", name, part)


def strided(node: ast.expr) -> str:
    """A slice with a step that is a number, as `[::2]` is written; else ""."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    for part in parts:
        if isinstance(part, ast.Slice) and isinstance(part.step, ast.Constant):
            return ast.unparse(part) if part.upper is None else ""
    return ""


def _is_length_of(key: ast.expr, base: ast.expr) -> bool:
    """Whether a key is the next free number, as in `d[len(d)] = value`."""
    match key:
        case ast.Call(func=ast.Name(id="len"), args=[asked]):
            return ast.unparse(asked) == ast.unparse(base)
    return False


def _is_whole(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(
        (isinstance(p, ast.Slice) and p.lower is None and p.upper is None and p.step is None)
        or (isinstance(p, ast.Constant) and p.value is Ellipsis)
        for p in parts
    )
