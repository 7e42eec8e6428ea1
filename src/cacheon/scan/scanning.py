"""One scan: roots walked, detectors asked, ignore comments heeded."""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from msgspec.structs import replace

from cacheon.records.errors import LimitExceeded, one_line
from cacheon.rules.catalogue import RULES
from cacheon.scan.detectors import Detectors, Fault
from cacheon.scan.events import Event, Root
from cacheon.scan.findings import ScanFinding
from cacheon.scan.ignores import Ignores, ignores
from cacheon.scan.project import Module, Project
from cacheon.scan.state import MOST_STEPS
from cacheon.scan.statements import Statements
from cacheon.scan.values import UNKNOWN, Class, Function, Instance, Value

_LONGEST_LINE = 200


@dataclass(frozen=True)
class Start:
    """A root, and what it is called with. `arguments` is asked once the roots before it
    have been walked: an entry gets what `prepare` returned."""

    root: Root
    name: str
    arguments: Callable[[dict[str, Value]], Sequence[Value]]
    bound: bool = False
    """Whether it is a method that is called of an instance."""


class Scan:
    """Collects findings. `without`: rules that are switched off; `most`: steps of a walk.
    `exhausted`: sources that want more; "" for all of them together."""

    def __init__(
        self, project: Project, without: frozenset[str] = frozenset(), most: float = inf
    ) -> None:
        self.project, self.without, self.most = project, without, most
        self.exhausted: set[str] = set()
        self._found: dict[tuple[str, str, int], ScanFinding] = {}
        self._ignores: dict[str, Ignores] = {}

    def walk(self, starts: Sequence[Start]) -> None:
        """Walk the roots; and once more where they left something in module state, which
        those before may meet."""
        walker = Statements(self.project, self._ask, self.most)
        self._round(walker, starts)
        if walker.version:
            self._round(walker, starts)
        self.exhausted = walker.exhausted

    def _round(self, walker: Statements, starts: Sequence[Start]) -> None:
        self._detectors, self._found = Detectors(), {}
        walker.steps.clear()
        returned: dict[str, Value] = {}
        for start in starts:
            function = self._function(walker, start)
            arguments = start.arguments(returned)
            returned[start.name] = walker.enter(start.root, function, arguments)

    def _function(self, walker: Statements, start: Start) -> Value:
        """What a root's name leads to; a dotted one to a method."""
        owner, _, method = start.name.rpartition(".")
        found = walker.exported(self.project.modules[start.root.path], owner or method)
        if owner and found is not None:
            of, found = found, walker.called_member(found, method)
            if isinstance(found, Function) and start.bound and isinstance(of, Class):
                # Of an object that outlives the call.
                held = f"{of.path}:{of.name}"
                found = replace(found, instance=Instance(path=of.path, name=of.name, held=held))
        return UNKNOWN if found is None else found

    def _ask(self, event: Event) -> None:
        for find in self._detectors.asked(event):
            for fault in find(event):
                at = fault.event or event
                module = self.project.modules[at.context.path]
                self.add(module, fault, fault.node or at.node, at.context.function)

    def add(self, module: Module, fault: Fault, node: ast.AST | None, function: str = "") -> None:
        """A fault at a node of a module; each rule speaks once for a line."""
        line = getattr(node, "lineno", 0)
        text = _line(module, line)
        # The tree counts bytes, a person characters.
        before = text.encode()[: getattr(node, "col_offset", 0)]
        column = len(before.decode("utf-8", "replace")) + bool(line)
        key = (fault.rule, module.path, line)
        if fault.rule in self.without or key in self._found:
            return
        rule = RULES[fault.rule]
        self._found[key] = ScanFinding(
            rule=fault.rule,
            file=module.path,
            line=line,
            column=column,
            function=function,
            source=one_line(text.strip(), _LONGEST_LINE),
            message=one_line(fault.message),
            severity=rule.severity,
            confidence=rule.confidence,
            ignored=one_line(self._ignores_of(module).reason(fault.rule, line)),
        )

    def add_all(self, faults: Iterable[tuple[Module, Fault]]) -> None:
        for module, fault in faults:
            self.add(module, fault, fault.node)

    def comments(self) -> None:
        """Ignore comments that cannot stand."""
        for module in self.project.modules.values():
            for line, what in self._ignores_of(module).wrong:
                place = ast.Pass(lineno=line, col_offset=0)
                self.add(module, Fault("CG808", what), place)

    def _ignores_of(self, module: Module) -> Ignores:
        if module.path not in self._ignores:
            self._ignores[module.path] = ignores("\n".join(module.lines) + "\n")
        return self._ignores[module.path]

    def findings(self) -> tuple[ScanFinding, ...]:
        """By file and line."""
        found = self._found.values()
        return tuple(sorted(found, key=lambda f: (f.file, f.line, f.rule)))


def _line(module: Module, line: int) -> str:
    return module.lines[line - 1] if 0 < line <= len(module.lines) else ""


def too_long(file: str, steps: int = MOST_STEPS) -> LimitExceeded:
    """The refusal of a source that is exhausted, or of a directory of sources."""
    return LimitExceeded(
        file=file, expected=f"calls that are followed in {steps} steps", got="more"
    )
