"""Branches: what each arm does, and who comes out of it."""

import ast
from collections.abc import Mapping, Sequence

from cacheon.scan import facts, rank_numbers
from cacheon.scan.effects import collectives, lasting
from cacheon.scan.events import Branched, Effect, Raised
from cacheon.scan.importing import Importing
from cacheon.scan.values import LAZY, NONE, RANKED, UNKNOWN, Host, Names, Value, join

_TOPICS = ("capture", rank_numbers.RANK)


class Branches(Importing):
    def _if(self, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[bool, bool]:
        """Walk a branch. Whether control can come out, and whether `rest`, the statements
        after it, were walked too: they are the other arm of a branch that one arm leaves."""
        value = self.tested(node.test)
        if isinstance(value, Host) and facts.is_settled(value):
            # A flag that nobody changes: the other arm is never run.
            return self.block(node.body if value.constant else node.orelse), False
        when, unless = facts.truth(value)
        topics = facts.topics(value)
        reduced = not topics.isdisjoint(_TOPICS) and any(map(collectives, self.effects))
        narrow = rank_numbers.narrows(topics)
        before = dict(self.frame.env)
        asked, is_one = _asks_for_tensor(node.test)
        if asked in before and not is_one:
            self.frame.env[asked] = UNKNOWN
        with self.knowing(when), self.doubting(), self.collecting() as then:
            falls = self.block(node.body)
        end = None if falls else self.ended
        if end is not None:
            # A guard: where no rank is refused, all go on.
            unless -= {RANKED}
        after, self.frame.env = self.frame.env, before
        if asked in before and is_one:
            before[asked] = UNKNOWN
        with self.knowing(unless), self.collecting() as otherwise:
            with self.doubting():
                falls_else = self.block(node.orelse)
            later = not falls and falls_else and bool(rest)
            if later:
                with self.doubting(narrow):
                    falls_else = self.block(rest)
            rest_learned = self.learned
        end_else = None if falls_else else self.ended
        if falls and falls_else:
            self.frame.env = merged(after, self.frame.env)
        elif falls:
            self.frame.env = after
            if not falls_else and rest:
                when -= {RANKED} if end_else is not None else NONE
                with self.knowing(when), self.doubting(narrow), self.collecting() as more:
                    falls = self.block(rest)
                then |= more
                later = True
                end = None if falls else self.ended
        stays = falls_else and not falls
        self.learned = unless | rest_learned if stays else frozenset()
        arms, ends = (frozenset(then), frozenset(otherwise)), (end, end_else)
        self.ended = end if end_else is not None else None
        self._tell(node, topics, arms, ends, reduced)
        return falls or falls_else, later

    def _tell(
        self,
        node: ast.If,
        topics: Names,
        arms: tuple[frozenset[Effect], frozenset[Effect]],
        ends: tuple[Raised | None, Raised | None],
        reduced: bool,
    ) -> None:
        if rank_numbers.RANK in topics and ends == (None, None):
            for effect in lasting(arms[0]) ^ lasting(arms[1]):
                self.affect("ranked", *effect)
        for topic in _TOPICS:
            if topic in topics:
                context, sure = self.context, self.sure
                self.emit(Branched(node, context, topic, *arms, topics, ends, reduced, sure))

    def _try(self, node: ast.Try | ast.TryStar) -> bool:
        before = dict(self.frame.env)
        with self.catching(bool(node.handlers)):
            falls = self.block([*node.body, *node.orelse])
        ends = [self.frame.env] if falls else []
        for handler in node.handlers:
            self.frame.env = dict(before)
            # State that a key or an attribute is asked of, and that is not there yet.
            lazy = frozenset({LAZY}) if _is_absence(handler.type) else NONE
            with self.knowing(lazy), self.doubting():
                if self.block(handler.body):
                    ends.append(self.frame.env)
        if ends:
            self.frame.env = ends[0]
            for other in ends[1:]:
                self.frame.env = merged(self.frame.env, other)
        falls = self.block(node.finalbody) and bool(ends)
        self.ended = None
        return falls

    def _match(self, node: ast.Match) -> None:
        self.value(node.subject)
        before, ends = dict(self.frame.env), list[dict[str, Value]]()
        for case in node.cases:
            self.frame.env = dict(before)
            if case.guard is not None:
                self.tested(case.guard)
            with self.doubting():
                self.block(case.body)
            ends.append(self.frame.env)
        for end in ends:
            before = merged(before, end)
        self.frame.env = before


def merged(a: Mapping[str, Value], b: Mapping[str, Value]) -> dict[str, Value]:
    """The names after a branch; one that an arm does not bind keeps the other's value."""
    return {
        name: join(a[name], b[name]) if name in a and name in b else (a | b)[name]  # type: ignore[operator]
        for name in {**a, **b}
    }


def _asks_for_tensor(test: ast.expr) -> tuple[str, bool]:
    """The name of which a test asks whether it is a tensor, or something else; in the other
    arm, or in this one, it is none. "" where it asks nothing of the kind."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            name, is_one = _asks_for_tensor(inner)
            return name, not is_one
        case ast.Call(func=ast.Attribute(attr="is_tensor"), args=[ast.Name(id=name)]):
            return name, True
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
            return name, "Tensor" in ast.unparse(kind)
    return "", False


def _is_absence(kind: ast.expr | None) -> bool:
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(n, ast.Name) and n.id in ("KeyError", "AttributeError") for n in names)
