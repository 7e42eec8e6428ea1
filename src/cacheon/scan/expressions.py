"""Expressions: where their values come from."""

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from cacheon.scan import facts, rank_numbers
from cacheon.scan.events import Called, Shown, Tested
from cacheon.scan.places import Places
from cacheon.scan.project import FunctionNode, place_of
from cacheon.scan.shares import lessened
from cacheon.scan.state import DEEPEST_LEVELS
from cacheon.scan.values import (
    HOST,
    NOTHING,
    UNKNOWN,
    Function,
    Group,
    Host,
    Tensor,
    Value,
    every,
    join,
    joined,
    place_among,
    pruned,
    tensors,
    unsure,
)

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_BITWISE = ast.BitAnd | ast.BitOr | ast.BitXor


class Expressions(Places):
    def value(self, node: ast.expr) -> Value:
        if self.level >= DEEPEST_LEVELS or not (isinstance(node, ast.Constant) or self.step()):
            return UNKNOWN
        self.level += 1
        try:
            return self._value(node)
        finally:
            self.level -= 1

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(id=name):
                return self.used_name(name)
            case ast.Constant(value=None | bool() | str() as constant):
                return Host(constant=constant, known=True)
            case ast.Constant():
                return HOST
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                return self.show(node, self.value(right))
            case ast.BinOp(left=left, op=operator, right=right):
                before = self.value(left)
                made = self.arithmetic(operator, before, self.value(right))
                if isinstance(made, Host) and isinstance(before, Host):
                    about = lessened(operator, right, before.topics)
                    about |= rank_numbers.remainder(operator, right, before.topics)
                    return replace(made, topics=made.topics | about)
                return made
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp():
                return self._boolean(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return facts.negated(self.tested(operand))
            case ast.UnaryOp(operand=operand):
                return replace(self.value(operand), held="")
            case ast.IfExp():
                return self._conditional(node)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return self._display(items, not isinstance(node, ast.Tuple))
            case ast.Dict(values=values, keys=keys):
                return self._mapping(keys, values)
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                value = self.value(inner)
                self.frame.env[name] = value
                return value
            case ast.JoinedStr(values=values):
                return Host(holds=frozenset().union(*(self.value(v).holds for v in values)))
            case ast.FormattedValue(value=inner):
                return self.show(node, self.value(inner))
            case ast.Lambda():
                return self.function(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Starred(value=inner) | ast.Await(value=inner):
                return self.value(inner)
            case ast.Yield(value=ast.expr() as inner) | ast.YieldFrom(value=inner):
                self.value(inner)
        return UNKNOWN

    def show(self, node: ast.AST, value: Value) -> Host:
        """A value, or each of a tuple that is written out, becomes part of a text."""
        items = value.items if isinstance(value, Group) and value.items else (value,)
        for item in items:
            self.emit(Shown(node, self.context, item))
        return Host(holds=frozenset().union(*(item.holds for item in items)))

    def function(self, node: FunctionNode) -> Function:
        """A function that is defined here; it sees the names of this frame."""
        path = self.frame.module.path
        self.project.remember(path, node)
        place = place_of(node)
        self.closures[path, place] = self.frame
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        return Function(path=path, line=place, name=name)

    # Operators

    def arithmetic(self, operator: ast.operator, left: Value, right: Value) -> Value:
        found = [*tensors(left), *tensors(right)]
        holds = left.holds | right.holds
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            masks = [v.mask for v in (left, right) if isinstance(v, Tensor)]
            return Tensor(
                place=place_among(found),
                mask=isinstance(operator, _BITWISE) and all(masks),
                holds=holds,
                fresh=True,
            )
        if isinstance(left, Group) and isinstance(right, Group):
            return join(replace(left, held=""), replace(right, held=""))
        if isinstance(left, Group) and isinstance(operator, ast.Mult):
            return replace(left, items=None, every=every(left), held="")
        if isinstance(left, Host) and isinstance(right, Host):
            return Host(
                holds=holds,
                held=left.held or right.held,
                addresses=left.addresses | right.addresses,
                topics=unsure(left.topics | right.topics),
            )
        return replace(UNKNOWN, holds=holds)

    def _compare(self, node: ast.Compare) -> Value:
        left = self._compared_operand(node.left)
        results: list[Value] = []
        nodes = [node.left, *node.comparators]
        for operator, left_node, right_node in zip(node.ops, nodes, nodes[1:], strict=False):
            right = self._compared_operand(right_node)
            identity = isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn)
            if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, Tensor):
                name = "Tensor.__contains__"
                self.emit(Called(node, self.context, name, (left,), {}, receiver=right))
            operands = [v for v in (left, right) if isinstance(v, Tensor)]
            if operands and not identity and not (_is_foreign(left) or _is_foreign(right)):
                results.append(
                    Tensor(
                        place=place_among(operands),
                        mask=True,
                        holds=left.holds | right.holds,
                        fresh=True,
                    )
                )
            else:
                said = facts.compared(left, operator, right, right_node)
                about = rank_numbers.compared(left_node, operator, right_node, (left, right))
                results.append(replace(said, topics=said.topics | about))
            left = right
        if len(results) > 1:
            for result in results[:-1]:
                self.emit(Tested(node, self.context, result))
            if not any(isinstance(result, Tensor) for result in results):
                return facts.both(results)
        return results[-1]

    def _compared_operand(self, node: ast.expr) -> Value:
        found = self.metadata(node)
        return self.value(node) if found is None else found

    def tested(self, node: ast.expr) -> Value:
        """An expression whose truth is asked for."""
        value = self._compared_operand(node)
        self.emit(Tested(node, self.context, value))
        return value

    def _boolean(self, node: ast.BoolOp) -> Value:
        conjunction = isinstance(node.op, ast.And)
        before, values = self.facts, list[Value]()
        for each in node.values:
            # The last one is the result itself: nobody has asked for its truth yet.
            last = each is node.values[-1]
            with self.doubting(bool(values)):
                values.append(self.value(each) if last else self.tested(each))
            when, unless = facts.truth(values[-1])
            self.facts |= when if conjunction else unless
        self.facts = before
        found = [value for value in values if isinstance(value, Tensor)]
        if found:
            # Where all before it have let it through, the last one is the result.
            return joined(found if values[-1] is found[-1] else values)
        combined = facts.both(values) if conjunction else facts.either(values)
        if conjunction or all(isinstance(value, Host) for value in values):
            return combined
        return joined(values)

    def _conditional(self, node: ast.IfExp) -> Value:
        when, unless = facts.truth(self.tested(node.test))
        with self.doubting(), self.knowing(when):
            left = self.value(node.body)
        with self.doubting(), self.knowing(unless):
            return join(left, self.value(node.orelse))

    # Groups

    def _display(self, items: Sequence[ast.expr], literal: bool) -> Value:
        values: list[Value] = []
        known = True
        for item in items:
            value = self.value(item)
            if isinstance(item, ast.Starred):
                known = known and isinstance(value, Group) and value.items is not None
                inner = value.items if isinstance(value, Group) and value.items else (value,)
                values.extend(inner)
            else:
                values.append(value)
        whole = joined(values) if values else NOTHING
        group = Group(items=tuple(values) if known else None, every=whole, literal=literal)
        return pruned(group)

    def _mapping(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Value:
        found: list[Value] = []
        for key, each in zip(keys, values, strict=True):
            value = self.value(each)
            if key is None:
                # `**other`: its values, not the mapping itself.
                found.append(every(value) if isinstance(value, Group) else self.one_of(value))
            else:
                self.value(key)
                found.append(value)
        names = tuple(
            key.value
            for key in keys
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )
        whole = joined(found) if found else NOTHING
        if len(names) == len(found) == len(set(names)):
            return pruned(Group(items=tuple(found), every=whole, keys=names))
        return pruned(Group(every=whole))

    def _comprehension(self, node: Comprehension) -> Value:
        before = dict(self.frame.env)
        for generator in node.generators:
            self.assign(generator.target, self.one_of(self.value(generator.iter)))
            for condition in generator.ifs:
                self.tested(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
            inner = self.value(node.value)
        else:
            inner = self.value(node.elt)
        self.frame.env = before
        return pruned(Group(every=inner, literal=isinstance(node, ast.ListComp | ast.SetComp)))

    def one_of(self, value: Value) -> Value:
        """What a loop over a value takes from it."""
        match value:
            case Tensor():
                return replace(value, fresh=False)
            case Group(keys=keys):
                return HOST if keys else every(value)
            case Host(constant=None):
                return Host(holds=value.holds, topics=value.topics - unsure(value.topics))
        return UNKNOWN


def _is_foreign(value: Value) -> bool:
    """Whether a tensor is never equal to it, whatever its contents: None, or a text."""
    return isinstance(value, Host) and value.known and not isinstance(value.constant, bool)
