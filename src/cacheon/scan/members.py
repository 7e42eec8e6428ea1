"""Names and attributes: where a dotted name leads."""

import ast
import builtins

from msgspec.structs import replace

from cacheon.scan import torch_api
from cacheon.scan.classes import Classes
from cacheon.scan.shares import ALL, sized
from cacheon.scan.state import Frame
from cacheon.scan.values import (
    HOST,
    UNKNOWN,
    Class,
    Function,
    Group,
    Host,
    Instance,
    Kernel,
    Made,
    Method,
    Names,
    Super,
    Symbol,
    Tensor,
    Value,
    every,
    shared,
    unsure,
)


class Members(Classes):
    def dims_of(self, names: Names) -> int:
        """How many dimensions an output has; 0 for what is none."""
        tensors = self.root.slot.tensors if self.root.slot is not None else ()
        return next((len(t.shape) for t in tensors if {t.name} == names & self.root.outputs), 0)

    def size_of(self, tensor: Tensor) -> Host:
        """An answer from metadata."""
        topics = {"size"} if tensor.held else set[str]()
        if self.dims_of(tensor.shares):
            topics.add(sized(tensor.shares, ALL))
        return Host(held=tensor.held, topics=frozenset(topics))

    def size_in(self, value: Host, dim: int | None) -> Host:
        """One of the sizes that a shape is made of."""
        topics = set(unsure(value.topics))
        for name in self.root.outputs if dim is not None else ():
            names = frozenset({name})
            dims = self.dims_of(names)
            if sized(names, ALL) in value.topics and dim is not None and -dims <= dim < dims:
                topics.add(sized(names, dim % dims))
        return Host(held=value.held, holds=value.holds, topics=frozenset(topics))

    def used_name(self, name: str) -> Value:
        """A name whose value something is done with."""
        value = self.name(name)
        self.use(value)
        return value

    def name(self, name: str) -> Value:
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.env and name not in frame.globals:
                value = frame.env[name]
                self.read |= shared(value)
                return value
            frame = frame.outer
        found = self.read_global(self.frame.module, name)
        return Symbol(name=self._elsewhere(name)) if found is None else found

    def _elsewhere(self, name: str) -> str:
        """A name that the source does not bind: a builtin, or one of `from … import *`.
        Of several such imports torch's is taken, which the rules are about."""
        stars = self.modules[self.frame.module.path].stars
        origins = [origin for origin in stars if origin.startswith("torch")] or stars
        if len(origins) == 1 and not hasattr(builtins, name):
            return torch_api.canonical(f"{origins[0]}.{name}")
        return f"builtins.{name}"

    def attribute(self, node: ast.Attribute) -> Value:
        base = self.metadata(node.value) if node.attr in torch_api.METADATA else None
        if base is None:
            base = self.value(node.value)
        return self.member(base, node.attr)

    def metadata(self, node: ast.expr) -> Value | None:
        """A bare name that is only asked about itself: that is no use of its memory."""
        return self.name(node.id) if isinstance(node, ast.Name) else None

    def member(self, base: Value, attr: str) -> Value:
        match base:
            case Symbol(name=name):
                return self.outside(f"{name}.{attr}")
            case Tensor() if attr in ("device", "dtype"):
                return Host(topics=frozenset({attr}))
            case Tensor() if attr in torch_api.METADATA:
                return self.size_of(base)
            case Tensor() if attr in torch_api.ATTRIBUTE_VIEWS:
                return base
            case Group() if attr in ("values", "indices"):
                return every(base)
            case Made(name=name) if name == torch_api.STREAM and attr == "cuda_stream":
                return HOST
            case Tensor() | Group() | Made() | Kernel():
                return Method(receiver=base, attr=attr)
            case Class() if attr == "apply" and (found := self.applied_of(base)) is not None:
                return found
            case Function(path=path, name=name) | Class(path=path, name=name):
                found = self.method_of(base, attr)
                return found or self.attribute_of_state(self.holder_of(base, path, name, attr))
            case Super():
                return self.method_of(base, attr) or UNKNOWN
            case Instance(path=path, name=name):
                return self._of_instance(base, self.holder_of(base, path, name, attr), attr)
            case Host(constant=str()) if attr == "format":
                return Method(receiver=base, attr=attr)
            case Host():
                return Host(held=base.held, holds=base.holds)
        return replace(UNKNOWN, held=base.held)

    def holder_of(self, base: Value, path: str, name: str, attr: str) -> str:
        """Where an attribute is held: at the class itself, or at the base that has it."""
        own = f"{path}:{name}.{attr}"
        bases = self.bases_of(path, name) if isinstance(base, Class | Instance) else ()
        holders = [f"{b.path}:{b.name}.{attr}" for b in bases if isinstance(b, Class)]
        return next((each for each in (own, *holders) if each in self.contents), own)

    def _of_instance(self, base: Instance, holder: str, attr: str) -> Value:
        found = None if holder in self.contents else self.method_of(base, attr)
        if found is not None:
            return found
        if base.held:
            return self.attribute_of_state(holder)
        # An object of the call's own: what it has goes when the call ends.
        return self.contents.get(holder, UNKNOWN)

    def outside(self, name: str) -> Value:
        """A dotted name that an import began: one of the sources, or another's."""
        canonical = torch_api.canonical(name)
        head, _, last = canonical.rpartition(".")
        module = self.project.module(head) if head else None
        if module is not None:
            return self.exported(module, last) or Symbol(name=canonical)
        return Symbol(name=canonical)
