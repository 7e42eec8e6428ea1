"""What a walk through the sources carries along."""

import ast
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from cacheon.scan.events import Context, Effect, Event, How, Kept, Phase, Raised, Root
from cacheon.scan.project import Module, Project
from cacheon.scan.triton_kernels import Definition
from cacheon.scan.values import (
    CAPTURING,
    EAGER,
    LAZY,
    NOTHING,
    UNKNOWN,
    Class,
    Function,
    Group,
    Host,
    Instance,
    Made,
    Names,
    Tensor,
    Unknown,
    Value,
    every,
    join,
    pruned,
    shared,
)

DEEPEST_CALLS = 10
"""Calls that are followed into each other; beyond, a result is unknown."""
DEEPEST_LEVELS = 150
"""Levels of syntax, over all calls that are followed: Python's own stack bounds them."""
MOST_STEPS = 200_000
"""Expressions, but constants, that are evaluated for what one source defines; torch's own
longest needs a tenth. Beyond, the source is refused: what is not walked may hold anything."""
MOST_STEPS_OF_ALL = 1_000_000
"""Of a bundle's sources together."""


@dataclass
class Frame:
    """One call that is walked. `outer`: the frame of the function around this one."""

    module: Module
    name: str
    env: dict[str, Value] = field(default_factory=dict)
    outer: "Frame | None" = None
    globals: set[str] = field(default_factory=set)
    returned: list[tuple[ast.AST, Value]] = field(default_factory=list)
    owner: Class | None = None
    instance: Value | None = None
    stars: list[str] = field(default_factory=list)
    """Outside modules of which all names were imported."""


class Walk(ABC):
    """The state, and what every part of the walk does with it."""

    def __init__(self, project: Project, emit: Callable[[Event], None], most: float = inf) -> None:
        self.project, self.emit_to, self.most = project, emit, most
        self.contents: dict[str, Value] = {}
        self.version = 0
        self.modules: dict[str, Frame] = {}
        self.closures: dict[tuple[str, int], Frame] = {}
        self.root = Root(path="", name="", line=0, phase="load")
        self.phase: Phase = "load"
        self.facts: Names = frozenset()
        self.effects: list[set[Effect]] = [set()]
        self.used: set[str] = set()
        self.read: set[str] = set()
        self.streams: list[str] = []
        self.frame = Frame(Module("", "", ast.Module([], []), []), "")
        self.scopes: list[Frame] = []
        self.calls: list[tuple[str, int, int]] = []
        self.bases: dict[tuple[str, str], tuple[Value, ...]] = {}
        """Of each class that was defined, by path and name."""
        self.owners: dict[tuple[str, int], Class] = {}
        """Of each method that was found, the class that defines it."""
        self.carried: dict[ast.AST, Names] = {}
        """Of each loop that was walked, the names that a turn meets of the one before."""
        self.level = 0
        self.steps: Counter[str] = Counter()
        self.exhausted: set[str] = set()
        """Sources that want more steps than they may take; "" for all of them together."""
        self.left = False
        self.ended: Raised | None = None
        """How the block that was walked last, and that does not fall, surely ends."""
        self.sure = True
        """Whether every call of the root comes here, with every rank."""
        self.caught = False
        """Whether an error that is raised here perhaps ends nothing."""
        self.learned: Names = frozenset()

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """The value of an expression; what happens on the way is told."""

    @abstractmethod
    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Walk statements; whether control can come out at the end."""

    @abstractmethod
    def tested(self, node: ast.expr) -> Value:
        """An expression whose truth is asked for."""

    @abstractmethod
    def call(self, node: ast.Call) -> Value:
        """The result of a call."""

    @abstractmethod
    def load(self, module: Module) -> Frame:
        """The names of a module, its statements walked once."""

    @abstractmethod
    def take_defaults(self, node: Definition, path: str, name: str, frame: Frame) -> None:
        """Evaluate the defaults of a function, once, where it is defined."""

    @abstractmethod
    def imported(self, dotted: str) -> Value:
        """What `import` of a dotted name binds."""

    @abstractmethod
    def exported(self, module: Module, name: str) -> Value | None:
        """A name of another source."""

    @abstractmethod
    def one_of(self, value: Value) -> Value:
        """What a loop over a value takes from it."""

    def closure_of(self, function: Function) -> Frame:
        """The frame whose names a function sees."""
        if function.scope:
            return self.scopes[function.scope - 1]
        return self.closures[function.path, function.line]

    @abstractmethod
    def apply(
        self,
        node: ast.AST,
        target: Value,
        values: Sequence[Value],
        keywords: Mapping[str, Value],
    ) -> Value:
        """Call a value."""

    @abstractmethod
    def invoke(
        self,
        node: ast.AST,
        function: Function,
        values: Sequence[Value],
        keywords: Mapping[str, Value],
    ) -> Value:
        """Call a function of the sources."""

    def step(self) -> bool:
        """Count one expression; whether it may still be evaluated."""
        path = self.root.path
        self.steps[path] += 1
        self.most -= 1
        if self.most < 0:
            self.exhausted.add("")
        elif self.steps[path] > MOST_STEPS:
            self.exhausted.add(path)
        else:
            return True
        return False

    @property
    def now(self) -> Phase:
        """The phase of this line, branches considered."""
        if EAGER in self.facts:
            return "eager"
        return "first" if LAZY in self.facts and self.phase == "replay" else self.phase

    @property
    def context(self) -> Context:
        return Context(self.root, self.frame.module.path, self.frame.name, self.now, self.facts)

    def emit(self, event: Event) -> None:
        self.emit_to(event)

    @contextmanager
    def knowing(self, facts: Names) -> Iterator[None]:
        """Walk an arm of a branch in which these facts hold."""
        before = self.facts
        self.facts = before | facts
        try:
            yield
        finally:
            self.facts = before

    @contextmanager
    def doubting(self, doubt: bool = True) -> Iterator[None]:
        """Walk what perhaps not every call comes to."""
        before = self.sure
        self.sure = before and not doubt
        try:
            yield
        finally:
            self.sure = before

    @contextmanager
    def catching(self, catch: bool = True) -> Iterator[None]:
        """Walk what perhaps has its errors caught."""
        before = self.caught
        self.caught = before or catch
        try:
            yield
        finally:
            self.caught = before

    @contextmanager
    def collecting(self) -> Iterator[set[Effect]]:
        """The effects of what is walked within; they count outside as well."""
        effects: set[Effect] = set()
        self.effects.append(effects)
        try:
            yield effects
        finally:
            self.effects.pop()
            self.effects[-1] |= effects

    def affect(self, *effect: str) -> None:
        self.effects[-1].add(effect)

    def use(self, value: Value) -> None:
        """Something other than a look at metadata is done with it."""
        self.used |= shared(value)

    def keep(
        self, node: ast.AST, holder: str, how: How, value: Value, key: Value | None = None
    ) -> None:
        """Put a value into module state."""
        kept = self.fill(holder, how, value)
        self.emit(Kept(node, self.context, holder, how, kept, key))
        # New space that is kept for a graph's sake changes no answer.
        grows = how == "item" and CAPTURING not in self.facts
        lasting = value.holds or not isinstance(value, Tensor) or grows
        if lasting and self.now != "first":
            self.affect("keep", holder)

    def fill(self, holder: str, how: How, value: Value) -> Value:
        """Remember what a place may hold; the value without where it was read from."""
        kept = replace(value, held="")
        before = self.contents.get(holder, NOTHING)
        if how in ("key", "item"):
            inner = every(before) if isinstance(before, Group) else NOTHING
            after: Value = Group(every=join(inner, kept))
        else:
            after = join(before, kept)
        after = pruned(after)
        if after != before:
            self.contents[holder] = after
            self.version += 1
        return kept

    def read_global(self, module: Module, name: str) -> Value | None:
        """A name of a module; with where it is held, if some function changes it."""
        frame = self.modules.get(module.path)
        if frame is None or name not in frame.env:
            return None
        value = frame.env[name]
        if isinstance(value, Made | Instance):
            return replace(value, held=f"{module.path}:{name}")
        if name not in module.changed or not isinstance(value, Host | Group | Unknown | Tensor):
            return value
        holder = f"{module.path}:{name}"
        if holder not in self.contents:
            self.contents[holder] = replace(value, held="")
        return self.from_state(self.contents[holder], holder)

    def from_state(self, value: Value, holder: str) -> Value:
        """A value read from module state: its memory outlives the call."""
        if isinstance(value, Tensor):
            value = replace(value, shares=value.shares | {holder}, fresh=False)
            if self.now == "replay":
                self.affect("hold", holder)
        if isinstance(value, Group):
            value = replace(value, items=None, every=self.inner_state(every(value), holder))
        if isinstance(value, Host):
            self.affect("read", holder)
        if isinstance(value, Host | Group | Unknown | Tensor | Made | Instance):
            return replace(value, held=holder)
        return value

    def inner_state(self, value: Value, holder: str) -> Value:
        """An item of a group in module state; a group within it fills by itself."""
        if isinstance(value, Group):
            holder += "[]"
            value = join(value, self.contents.get(holder, value))
        return self.from_state(value, holder)

    def attribute_of_state(self, holder: str) -> Value:
        """`holder` names an attribute of something that outlives the call."""
        return self.from_state(self.contents.get(holder, UNKNOWN), holder)
