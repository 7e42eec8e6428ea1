"""Functions of the sources: defined, called, remembered."""

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from cacheon.scan import results, torch_api
from cacheon.scan.calls import Calls
from cacheon.scan.events import Called, Effect, Ended, How, Root
from cacheon.scan.methods import Keywords
from cacheon.scan.parse import children
from cacheon.scan.project import FunctionNode, place_of
from cacheon.scan.state import DEEPEST_CALLS, Frame
from cacheon.scan.triton_kernels import Definition, is_kernel
from cacheon.scan.values import (
    GROWN,
    HOST,
    LAZY,
    NOTHING,
    OUTGROWN,
    UNKNOWN,
    Class,
    Either,
    Function,
    Group,
    Host,
    Instance,
    Kernel,
    Names,
    Partial,
    Symbol,
    Value,
    joined,
)

_TUNES = frozenset({"autotune", "tune", "tuning", "profile", "benchmark"})
_CACHES = frozenset({"functools.lru_cache", "functools.cache"})


class Functions(Calls):
    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.memo: dict[object, tuple[Value, set[Effect], set[str], set[str]]] = {}
        self.defaults: dict[tuple[str, int, str], Value] = {}

    def defined(self, node: Definition) -> Value:
        """The value of a `def`; a kernel is another than a function of the host."""
        marks = [self.value(decorator) for decorator in node.decorator_list]
        if is_kernel(node) and self.frame.name:
            if any(isinstance(m, Symbol) and m.name == "triton.jit" for m in marks):
                self.emit(Called(node, self.context, "triton.jit", (), {}))
            return UNKNOWN
        if is_kernel(node):
            return Kernel(path=self.frame.module.path, name=node.name)
        function = self.function(node)
        self.take_defaults(node, function.path, function.name, self.frame)
        return self._decorated(node, function, marks)

    def _decorated(self, node: Definition, function: Function, marks: Sequence[Value]) -> Value:
        """What the source's own decorators make of a function, where that hands on what
        it is given as it comes; else the function itself."""
        made: Value = function
        for mark in reversed(marks):
            if isinstance(mark, Symbol) and mark.name == torch_api.GRAPHED:
                made = self.apply(node, mark, [made], {})
            # One that remembers gives what the function gives; what it keeps is not followed.
            if isinstance(mark, Function | Class) and not _caches(mark):
                wrapper = self.apply(node, mark, [made], {})
                if isinstance(wrapper, Instance):
                    made = wrapper
                elif isinstance(wrapper, Function) and wrapper != made and self._is_open(wrapper):
                    self.scopes.append(self.closure_of(wrapper))
                    made = replace(wrapper, scope=len(self.scopes))
        return made

    def _is_open(self, wrapper: Function) -> bool:
        definition = self.project.node(wrapper.path, wrapper.line)
        return hands_on(definition)

    def take_defaults(self, node: Definition, path: str, name: str, frame: Frame) -> None:
        outer, self.frame = self.frame, frame
        for parameter, default in _defaults(node):
            key = path, place_of(node), parameter
            if key not in self.defaults:
                value = self.value(default)
                if isinstance(value, Group):
                    # One object for all calls: state that outlives them.
                    holder = f"{path}:{name}.{parameter}"
                    self.contents.setdefault(holder, value)
                    value = replace(value, held=holder)
                self.defaults[key] = value
        self.frame = outer

    def define_class(self, node: ast.ClassDef) -> None:
        if self.frame.module.classes.get(node.name) is node:
            path = self.frame.module.path
            self.frame.env[node.name] = Class(path=path, name=node.name)
            self.bases[path, node.name] = tuple(self.value(base) for base in node.bases)
            for statement in node.body:
                match statement:
                    case (
                        ast.Assign(targets=[ast.Name(id=name)], value=value)
                        | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                    ):
                        holder = f"{path}:{node.name}.{name}"
                        self.contents.setdefault(holder, self.value(value))

    def invoke(
        self, node: ast.AST, function: Function, values: Sequence[Value], keywords: Keywords
    ) -> Value:
        if function.graphed:
            self.emit(Called(node, self.context, torch_api.GRAPHED, tuple(values), keywords))
        place = (function.path, function.line, function.scope)
        if place in self.calls or len(self.calls) >= DEEPEST_CALLS:
            self.pass_on(*values, *keywords.values())
            return UNKNOWN
        state = (self.phase, self.facts, self.version, tuple(self.streams), self.root)
        # Of a library's functions nothing is said that hangs on these.
        where = (self.sure, self.caught) if self.root.slot is not None else ()
        key = (function, tuple(values), tuple(sorted(keywords.items())), state, where)
        if key not in self.memo:
            self.memo[key] = self._walked(function, values, keywords)
        result, effects, used, read = self.memo[key]
        self.effects[-1] |= effects
        self.used |= used
        self.read |= read
        return result

    def _walked(
        self, function: Function, values: Sequence[Value], keywords: Keywords
    ) -> tuple[Value, set[Effect], set[str], set[str]]:
        definition = self.project.node(function.path, function.line)
        before = self.used, self.read
        self.used, self.read = set(), set()
        with self.collecting() as effects:
            remembering = self._remembering(definition, function)
            # What was too small there is another buffer than those that are made here.
            outer, self.facts = self.facts, _without_sizes(self.facts)
            with self.knowing(frozenset({LAZY}) if remembering else frozenset()):
                result = self._body(function, definition, values, keywords)
            if remembering:
                addresses = frozenset().union(*(v.shares for v in values))
                holder = f"{function.path}:{function.name}"
                with self.knowing(frozenset({LAZY})):
                    self.keep(definition, holder, remembering, result, Host(addresses=addresses))
            self.facts = outer
        found = (result, effects, self.used, self.read)
        self.used, self.read = before
        return found

    def _body(
        self,
        function: Function,
        definition: FunctionNode,
        values: Sequence[Value],
        keywords: Keywords,
    ) -> Value:
        frame, falls = self._run(function, definition, values, keywords)
        found = [value for _, value in frame.returned]
        if falls or not found:
            found.append(NOTHING)
        return joined(found)

    def _run(
        self,
        function: Function,
        definition: FunctionNode,
        values: Sequence[Value],
        keywords: Keywords,
    ) -> tuple[Frame, bool]:
        """Walk a function's body in a frame of its own."""
        closure = self.closure_of(function)
        frame = Frame(closure.module, function.name, outer=closure if closure.name else None)
        frame.owner = self.owners.get((function.path, function.line))
        frame.instance = function.instance
        bound = [function.instance, *values] if function.instance is not None else list(values)
        frame.env.update(self._bound(function, definition, bound, keywords))
        outer, self.frame = self.frame, frame
        self.calls.append((function.path, function.line, function.scope))
        try:
            if isinstance(definition, ast.Lambda):
                frame.returned.append((definition.body, self.value(definition.body)))
                return frame, False
            return frame, self.block(definition.body)
        finally:
            self.calls.pop()
            self.frame = outer

    def _bound(
        self,
        function: Function,
        definition: FunctionNode,
        values: Sequence[Value],
        keywords: Keywords,
    ) -> dict[str, Value]:
        arguments = definition.args
        positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        names = [*positional, *(a.arg for a in arguments.kwonlyargs)]
        env = {
            name: self.defaults.get((function.path, function.line, name), UNKNOWN) for name in names
        }
        if self.root.slot is None and not self.calls:
            # Whoever calls a library's function sets its flags.
            env = {name: HOST if _is_flag(value) else value for name, value in env.items()}
        env.update(zip(positional, values, strict=False))
        env.update({name: value for name, value in keywords.items() if name in names})
        if arguments.vararg is not None:
            rest = tuple(values[len(positional) :])
            env[arguments.vararg.arg] = Group(items=rest, every=joined(rest))
        if arguments.kwarg is not None:
            spare = {name: v for name, v in keywords.items() if name not in names}
            whole = joined(spare.values())
            env[arguments.kwarg.arg] = (
                Group(every=whole)
                if results.SPREAD in spare
                else Group(items=tuple(spare.values()), every=whole, keys=tuple(spare))
            )
        return env

    def _remembering(self, definition: FunctionNode, function: Function) -> How | None:
        """Whether a decorator remembers results: "cached", "evicting" where it may also
        forget them, or None."""
        if isinstance(definition, ast.Lambda):
            return None
        if self.root.slot is None and _TUNES & set(function.name.split("_")):
            # Of a library, and by its name: it runs while a configuration is looked for.
            return "cached"
        outer, self.frame = self.frame, self.closure_of(function)
        try:
            for decorator in definition.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                symbol = self.value(called)
                if isinstance(symbol, Symbol) and symbol.name in _CACHES:
                    return "cached" if _keeps_all(symbol.name, decorator) else "evicting"
                if _caches(symbol):
                    return "cached"
        finally:
            self.frame = outer
        return None

    # Roots

    def enter(self, root: Root, function: Value, arguments: Sequence[Value]) -> Value:
        """Walk a function that is called from outside; the join of what it returns."""
        keywords: Keywords = {}
        if isinstance(function, Partial):
            keywords = dict(function.keywords)
            arguments, function = [*function.arguments, *arguments], function.target
        if isinstance(function, Either):
            found = [self.enter(root, each, arguments) for each in function.options]
            return joined(found)
        if isinstance(function, Instance):
            function = self.called_of(function) or UNKNOWN
        if not isinstance(function, Function):
            # Made by something that is not seen: a class, an import.
            return UNKNOWN
        self.root, self.phase, self.facts = root, root.phase, frozenset()
        self.effects, self.used, self.read = [set()], set(), set()
        self.streams, self.calls, self.sure, self.caught = [], [], True, False
        # What another root was called with says nothing of this one.
        self.memo.clear()
        definition = self.project.node(function.path, function.line)
        self.frame = self.closure_of(function)
        if function.graphed:
            self.emit(Called(definition, self.context, torch_api.GRAPHED, (), {}))
        frame, falls = self._run(function, definition, arguments, keywords)
        self.frame = frame
        self.emit(
            Ended(
                definition,
                self.context,
                returned=tuple(frame.returned),
                falls=falls or bool(frame.returned),
                used=frozenset(self.used),
                read=frozenset(self.read),
                effects=frozenset(self.effects[0]),
            )
        )
        return joined([value for _, value in frame.returned] or [NOTHING])


def hands_on(node: FunctionNode) -> bool:
    """Whether what a function spreads in its calls is what it was given itself."""
    rest = [each.arg for each in (node.args.vararg, node.args.kwarg) if each is not None]
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        match each:
            case ast.Name(id=name, ctx=ast.Store()) if name in rest:
                return False
            case ast.Starred(value=value) | ast.keyword(arg=None, value=value) if not (
                isinstance(value, ast.Name) and value.id in rest
            ):
                return False
        waiting += children(each)
    return True


def _is_flag(value: Value) -> bool:
    return isinstance(value, Host) and isinstance(value.constant, bool)


def _defaults(node: Definition) -> list[tuple[str, ast.expr]]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    pairs = [(a.arg, d) for a, d in zip(last, arguments.defaults, strict=True)]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            pairs.append((argument.arg, default))
    return pairs


def _caches(mark: Value) -> bool:
    """Whether a decorator remembers results that is of the source's own making, by its name."""
    return "cache" in getattr(mark, "name", "")


def _keeps_all(name: str, decorator: ast.expr) -> bool:
    if name == "functools.cache":
        return True
    given: list[ast.expr] = []
    if isinstance(decorator, ast.Call):
        given = [*decorator.args, *(k.value for k in decorator.keywords if k.arg == "maxsize")]
    return any(isinstance(each, ast.Constant) and each.value is None for each in given[:1])


def _without_sizes(facts: Names) -> Names:
    return frozenset(fact for fact in facts if not fact.startswith((GROWN, OUTGROWN)))
