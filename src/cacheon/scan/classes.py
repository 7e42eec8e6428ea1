"""Classes of the sources: where a method comes from, their own or a base's."""

import ast

from cacheon.scan.project import place_of
from cacheon.scan.state import Walk
from cacheon.scan.values import UNKNOWN, Class, Function, Instance, Super, Symbol, Value

_RECORDS = ("dataclass", "NamedTuple", "Struct")
"""What makes an `__init__` of the annotated names, by the end of its name."""


class Classes(Walk):
    def bases_of(self, path: str, name: str) -> list[Value]:
        """The bases of a class and theirs, each once: classes of the sources, or names of
        others'."""
        found: list[Value] = []
        waiting = list(self.bases.get((path, name), ()))
        while waiting:
            base = waiting.pop(0)
            if base not in found:
                found.append(base)
                if isinstance(base, Class):
                    waiting = [*self.bases.get((base.path, base.name), ()), *waiting]
        return found

    def is_a(self, base: Value, *names: str) -> bool:
        """Whether a class or an instance descends from one of these outside classes."""
        return isinstance(base, Class | Instance) and any(
            isinstance(each, Symbol) and each.name in names
            for each in self.bases_of(base.path, base.name)
        )

    def method_of(self, base: Value, attr: str) -> Value | None:
        """A method, bound to what it was asked of; what a property gives."""
        match base:
            case Class(path=path, name=name) | Instance(path=path, name=name):
                owners: list[Value] = [Class(path=path, name=name), *self.bases_of(path, name)]
                bound: Value = base
            case Super(path=path, name=name, instance=bound):
                owners = self.bases_of(path, name)
            case _:
                return None
        for owner in owners:
            if isinstance(owner, Class):
                node = self._defined_in(owner, attr)
                if node is not None:
                    return self._bound_method(owner, node, bound)
        return None

    def called_of(self, base: Instance) -> Value | None:
        """What a call of an instance runs."""
        found = self.method_of(base, "__call__")
        if found is None and self.is_a(base, *_MODULES):
            return self.method_of(base, "forward")
        return found

    def applied_of(self, base: Class) -> Value | None:
        """What `apply` of a function with a gradient runs."""
        if not self.is_a(base, *_GRADIENTS):
            return None
        found = self.method_of(base, "forward")
        if isinstance(found, Function) and found.instance is None:
            # Its first argument is a context.
            return Function(path=found.path, line=found.line, name=found.name, instance=UNKNOWN)
        return found

    def fields_of(self, base: Class) -> list[str]:
        """The names that an `__init__` takes which nobody has written."""
        node = self.project.modules[base.path].classes[base.name]
        marks = [
            ast.unparse(each).partition("(")[0] for each in (*node.decorator_list, *node.bases)
        ]
        if not any(mark.endswith(_RECORDS) for mark in marks):
            return []
        return [
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]

    def _defined_in(self, owner: Class, attr: str) -> ast.FunctionDef | None:
        for node in self.project.modules[owner.path].classes[owner.name].body:
            if isinstance(node, ast.FunctionDef) and node.name == attr:
                return node
        return None

    def _bound_method(self, owner: Class, node: ast.FunctionDef, base: Value) -> Value:
        path, place = owner.path, place_of(node)
        self.project.remember(path, node)
        self.closures.setdefault((path, place), self.load(self.project.modules[path]))
        self.take_defaults(node, path, node.name, self.closures[path, place])
        self.owners[path, place] = owner
        marks = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
        unbound = "staticmethod" in marks or (
            isinstance(base, Class) and "classmethod" not in marks
        )
        bound = None if unbound else base
        function = Function(path=path, line=place, name=node.name, instance=bound)
        if marks & {"property", "cached_property"} and not unbound:
            return self.invoke(node, function, (), {})
        return function


_MODULES = ("torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module")
_GRADIENTS = ("torch.autograd.Function", "torch.autograd.function.Function")
