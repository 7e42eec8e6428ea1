"""Statements, functions and modules: the order in which things happen."""

import ast
from collections.abc import Mapping, Sequence
from copy import copy

from cacheon.scan import facts, rank_numbers, torch_api
from cacheon.scan.branches import Branches, merged
from cacheon.scan.events import Looped, Raised, Streamed
from cacheon.scan.loops import carried, stands_still
from cacheon.scan.methods import stream_of
from cacheon.scan.values import (
    CAPTURING,
    Class,
    Group,
    Host,
    Instance,
    Made,
    Unknown,
    Value,
    every,
    is_live,
)


class Statements(Branches):
    def block(self, body: Sequence[ast.stmt]) -> bool:
        before, learned = self.facts, frozenset[str]()
        falls = True
        for number, statement in enumerate(body):
            later = False
            if isinstance(statement, ast.If):
                falls, later = self._if(statement, body[number + 1 :])
            else:
                falls = self._statement(statement)
            if isinstance(statement, ast.If | ast.With | ast.AsyncWith):
                # What an arm that left says of those who are still here.
                learned |= self.learned
                self.facts |= self.learned
            if later or not falls:
                break
        self.facts, self.learned = before, learned if falls else frozenset()
        return falls

    def _statement(self, node: ast.stmt) -> bool:
        """Walk one statement; whether the next one can be reached."""
        match node:
            case ast.Expr(value=value):
                self.value(value)
                left, self.left = self.left, False
                if left:
                    self.ended = Raised(node, self.context, leaves=True)
                return not left
            case ast.Assign(targets=targets, value=value):
                self._assigned(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assigned([target], value)
            case ast.AugAssign():
                self._augmented(node)
            case ast.Return(value=value):
                result = Host(known=True) if value is None else self.value(value)
                self.frame.returned.append((node, result))
                self.ended = None
                return False
            case ast.Raise(exc=exception, cause=cause):
                for each in filter(None, (exception, cause)):
                    self.value(each)
                self.ended = None if self.caught else Raised(node, self.context)
                return False
            case ast.Break() | ast.Continue():
                self.ended = None
                return False
            case ast.For() | ast.AsyncFor():
                self._for(node)
            case ast.While():
                return self._while(node)
            case ast.With() | ast.AsyncWith():
                return self._with(node)
            case ast.Try() | ast.TryStar():
                return self._try(node)
            case ast.Assert(test=test):
                self.tested(test)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.frame.env[node.name] = self.defined(node)
            case ast.ClassDef():
                self.define_class(node)
            case ast.Import() | ast.ImportFrom():
                self.import_names(node)
            case ast.Global(names=names):
                self.frame.globals.update(names)
            case ast.Match():
                self._match(node)
            case ast.Delete(targets=targets):
                for deleted in targets:
                    if isinstance(deleted, ast.Subscript):
                        self.affect("take", self.value(deleted.value).held)
        return True

    def _assigned(self, targets: Sequence[ast.expr], node: ast.expr) -> None:
        first = targets[0]
        name = _name_of(first)
        sums = isinstance(node, ast.BinOp) and _name_of(node.left) == name
        if isinstance(node, ast.BinOp) and sums and name in self.frame.globals:
            self._count(first, name, node)
            return
        if isinstance(first, ast.Attribute) and isinstance(node, ast.BinOp):
            same = isinstance(node.left, ast.Attribute) and _is_same(first, node.left)
            if same and self._count_attribute(first, first, node):
                return
        value = self.value(node)
        for target in targets:
            self.assign(target, value)

    def _augmented(self, node: ast.AugAssign) -> None:
        """`target += value`: in place where the target is a tensor."""
        loaded = _as_load(node.target)
        if isinstance(node.target, ast.Name) and node.target.id in self.frame.globals:
            whole = ast.copy_location(ast.BinOp(loaded, node.op, node.value), node)
            self._count(node, node.target.id, whole)
            return
        if isinstance(node.target, ast.Attribute):
            whole = ast.copy_location(ast.BinOp(loaded, node.op, node.value), node)
            if self._count_attribute(node, node.target, whole):
                return
        before, added = self.value(loaded), self.value(node.value)
        if is_live(before):
            self.write(node, before, "+=", added)
        elif not isinstance(node.target, ast.Attribute):
            self.assign(node.target, self.arithmetic(node.op, before, added))

    def _count_attribute(self, node: ast.AST, target: ast.Attribute, sum_: ast.BinOp) -> bool:
        """As `_count`, of an attribute; whether it outlives the call."""
        base = self.value(target.value)
        if not (isinstance(base, Class) or (isinstance(base, Instance) and base.held)):
            return False
        self._counted(node, self.holder_of(base, base.path, base.name, target.attr), sum_)
        return True

    def _count(self, node: ast.AST, name: str, sum_: ast.BinOp) -> None:
        self._counted(node, f"{self.frame.module.path}:{name}", sum_)

    def _counted(self, node: ast.AST, holder: str, sum_: ast.BinOp) -> None:
        """Module state is made from itself; a tensor in place."""
        # That it reads itself is no use that anybody makes of it.
        self.effects.append(set())
        before = self.value(sum_.left)
        self.effects.pop()
        added = self.value(sum_.right)
        if is_live(before):
            self.write(node, before, "+=", added)
        elif isinstance(before, Group) and isinstance(added, Group):
            self.keep(node, holder, "item", every(added))
        else:
            self.keep(node, holder, "counted", self.arithmetic(sum_.op, before, added))

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        item = self.one_of(self.value(node.iter))
        for _ in range(2):
            before = dict(self.frame.env)
            self.assign(node.target, item)
            with self.doubting():
                self.block(node.body)
            self.frame.env = merged(before, self.frame.env)
            if not self._leaves_behind(node, before):
                break
        self.block(node.orelse)

    def _leaves_behind(
        self, loop: ast.For | ast.AsyncFor | ast.While, before: Mapping[str, Value]
    ) -> bool:
        """Whether the next turn meets something that this one has changed."""
        if loop not in self.carried:
            target = None if isinstance(loop, ast.While) else loop.target
            test = [ast.Expr(loop.test)] if isinstance(loop, ast.While) else []
            self.carried[loop] = carried([*test, *loop.body], target)
        after = self.frame.env
        return any(before.get(name) != after.get(name) for name in self.carried[loop])

    def _while(self, node: ast.While) -> bool:
        value = self.tested(node.test)
        when, _ = facts.truth(value)
        always = isinstance(value, Host) and value.constant is True
        leaves = any(map(_leaves, node.body))
        told, turns = rank_numbers.tells(value) and stands_still(node), True
        with self.knowing(when):
            for _ in range(2):
                before = dict(self.frame.env)
                with self.doubting():
                    turns = self.block(node.body)
                self.frame.env = merged(before, self.frame.env)
                if not self._leaves_behind(node, before):
                    break
        if turns and not leaves and (always or told or CAPTURING in when):
            self.emit(Looped(node, self.context, ranked=not always and CAPTURING not in when))
        self.block(node.orelse)
        self.ended = None
        return leaves or not always

    def _with(self, node: ast.With | ast.AsyncWith) -> bool:
        entered, catches = 0, False
        for item in node.items:
            value = self.value(item.context_expr)
            catches = catches or isinstance(value, Unknown | Instance)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
            if isinstance(value, Made) and value.name in ("torch.cuda.stream", torch_api.STREAM):
                which = stream_of(value)
                self.emit(Streamed(item.context_expr, self.context, "use", which))
                self.streams.append(which)
                entered += 1
        with self.catching(catches):
            falls = self.block(node.body)
        del self.streams[len(self.streams) - entered :]
        return falls


def _leaves(node: ast.AST) -> bool:
    """Whether something in a loop's body leaves the loop."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Yield | ast.YieldFrom):
        return True
    return any(map(_leaves, ast.iter_child_nodes(node)))


def _as_load(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    """The place that is assigned to, as it would be read."""
    load = copy(target)
    load.ctx = ast.Load()
    return load


def _is_same(a: ast.expr, b: ast.expr) -> bool:
    return ast.unparse(a) == ast.unparse(b)


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
