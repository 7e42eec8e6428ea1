"""Which calls there are: a domain, a slot's own constraints and published limits together.

A small exact search over the slot's base dimensions. Every descriptor field is linear in
each dimension, so a constraint on a field becomes one on the last dimension that is still
open; multiples and limits tie dimensions to each other.
"""

from collections.abc import Iterator, Mapping

from cacheon.contract.descriptor import with_derived
from cacheon.contract.domain import Constraint, Domain
from cacheon.contract.slots.expression import names, whole
from cacheon.contract.slots.model import Slot

Limits = Mapping[str, tuple[int, int]]

_TRIES = 260
"""Values of one open dimension that are tried from its lower end upwards: more than the
largest block, so that every remainder comes up."""
_MOST_NODES = 20_000
"""Steps of one search; what is not settled by then is called undecided."""
_DIVISORS = 4096
"""Divisors are looked for up to this one and its counterparts."""


class Undecided(Exception):
    """The search ended before it had tried everything."""


class Region:
    """The calls of a slot that a domain admits within limits, context fields aside."""

    def __init__(self, slot: Slot, domain: Domain, limits: Limits) -> None:
        self.slot = slot
        self.constraints: dict[str, Constraint] = {}
        for field in slot.fields:
            constraint = domain.fields.get(field, Constraint())
            if field in limits:
                low, high = limits[field]
                constraint = constraint.intersect(Constraint(low=low, high=high, declared_low=True))
            self.constraints[field] = constraint
        self.base = tuple(slot.catalogue[0].dims)
        self.reads = {field: self._read(text) for field, text in slot.fields.items()}
        self.domain = domain

    def _read(self, expression: str) -> frozenset[str]:
        """The base dimensions that an expression depends on."""
        found: set[str] = set()
        for name in names(expression):
            derived = self.slot.derived.get(name)
            found |= {name} if derived is None else self._read(derived)
        return frozenset(found)

    def reach(self, field: str) -> Constraint:
        """What is left of a field's constraint once the other fields that measure the same
        dimension have had their say: where q_len and kv_len are both T, the narrower one
        ends both. The search would find as much, one value at a time."""
        constraint, reads = self.constraints[field], self.reads[field]
        if len(reads) != 1 or names(self.slot.fields[field]) != reads:
            return constraint
        (name,) = reads
        alone = dict.fromkeys(self.base, 1)
        bound = Constraint(low=1)
        for other, others in self.reads.items():
            if others == reads:
                bound = bound.intersect(self.inverted(other, name, alone))
        start, slope = self._line(field, name, alone)
        if bound.values is not None:
            along = Constraint(values=tuple(start + slope * int(n) for n in bound.values))
        else:
            high = None if bound.high is None else start + slope * bound.high
            along = Constraint(low=start + slope * bound.low, high=high)
        return constraint.intersect(along)

    def inverted(
        self,
        field: str,
        name: str,
        rest: Mapping[str, int],
        constraint: Constraint | None = None,
    ) -> Constraint:
        """A field's constraint (its own, unless another is given) as one on a base dimension
        that it reads, the others being `rest`."""
        constraint = self.constraints[field] if constraint is None else constraint
        start, slope = self._line(field, name, rest)
        if constraint.values is not None:
            numbers = [value - start for value in constraint.values if isinstance(value, int)]
            return Constraint(values=tuple(n // slope for n in numbers if n % slope == 0))
        high = None if constraint.high is None else (constraint.high - start) // slope
        return Constraint(low=max(1, -((start - constraint.low) // slope)), high=high)

    def _line(self, field: str, name: str, rest: Mapping[str, int]) -> tuple[int, int]:
        """A field as start + slope · dimension: every field is linear in each."""
        text = self.slot.fields[field]
        start = whole(text, with_derived(self.slot, {**rest, name: 0}))
        return start, whole(text, with_derived(self.slot, {**rest, name: 1})) - start

    def solve(self, pinned: Mapping[str, int], near: Mapping[str, int]) -> dict[str, int] | None:
        """Base dimensions of a call whose fields have the `pinned` values, as close to the
        dimensions `near` as is easily had; None where there is no such call. Raises
        Undecided."""
        return _Search(self, pinned, near).run()


class _Search:
    def __init__(self, region: Region, pinned: Mapping[str, int], near: Mapping[str, int]) -> None:
        self.region, self.slot, self.near = region, region.slot, near
        self.constraints = dict(region.constraints)
        for field, value in pinned.items():
            exact = Constraint(values=(value,))
            self.constraints[field] = self.constraints[field].intersect(exact)
        asked = {*pinned, *(field for field in region.domain.fields if field in self.slot.fields)}
        self.movable = self._movable(asked)
        # Features first: the count that must be a multiple of one can follow it.
        counts = [name for name in region.base if name in self.slot.counts]
        self.order = [name for name in region.base if name not in counts] + counts
        self.nodes = 0
        self.partial = False
        """Values were left out that might have led to a call."""

    def _movable(self, fields: set[str]) -> set[str]:
        """Dimensions that may leave the catalogue's values: counts, what the domain speaks
        of, and features tied to such a feature. An unconstrained feature stays."""
        counts = set(self.slot.counts)
        asked: set[str] = set()
        for field in fields:
            reads = self.region.reads[field]
            # Where counts take part in a field (kv_len = prefix + tokens), they give way.
            asked |= reads & counts or reads
        tied = set()
        for one, other in (*self.slot.multiples.items(), *self.slot.limits):
            if not {one, other} & counts and {one, other} & asked:
                tied |= {one, other}
        return asked | counts | tied

    def run(self) -> dict[str, int] | None:
        for field, constraint in self.constraints.items():
            constant = not self.region.reads[field]
            if constraint.is_empty:
                return None
            if constant and not constraint.admits(whole(self.slot.fields[field], {})):
                return None
        found = self._extend({})
        if found is None and self.partial:
            raise Undecided
        return found

    def _extend(self, known: dict[str, int]) -> dict[str, int] | None:
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            raise Undecided
        open_dims = [name for name in self.order if name not in known]
        if not open_dims:
            return known if self._holds(known) else None
        bounds = {name: self._bound(name, known) for name in open_dims}
        if any(bound.is_empty for bound in bounds.values()):
            return None
        # The narrowest first: a listed value decides more than a range does.
        name = min(open_dims, key=lambda each: _width(bounds[each]))
        for value in self._candidates(name, bounds, known):
            found = self._extend({**known, name: value})
            if found is not None:
                return found
        return None

    def _holds(self, dims: Mapping[str, int]) -> bool:
        full = with_derived(self.slot, dims)
        return all(
            constraint.admits(whole(self.slot.fields[field], full))
            for field, constraint in self.constraints.items()
        ) and all(full[a] % full[b] == 0 for a, b in self.slot.multiples.items())

    def _bound(self, name: str, known: Mapping[str, int]) -> Constraint:
        """What the fields that depend on no other open dimension leave of this one."""
        bound = Constraint(low=1)
        if name not in self.movable:
            published = sorted({shape.dims[name] for shape in self.slot.catalogue})
            bound = Constraint(values=tuple(published))
        for field, constraint in self.constraints.items():
            reads = self.region.reads[field]
            if name not in reads:
                continue
            if reads <= known.keys() | {name}:
                bound = bound.intersect(self._inverted(field, constraint, name, known))
            else:
                # The others are 1 or more, and every field grows with each of them.
                most = Constraint(high=_highest(constraint))
                others = {**dict.fromkeys(reads, 1), **known}
                bound = bound.intersect(self._inverted(field, most, name, others))
        for small, large in self.slot.limits:
            if name == small and large in known:
                bound = bound.intersect(Constraint(high=known[large]))
            if name == large and small in known:
                bound = bound.intersect(Constraint(low=known[small]))
        return bound

    def _inverted(
        self, field: str, constraint: Constraint, name: str, known: Mapping[str, int]
    ) -> Constraint:
        return self.region.inverted(field, name, {**self.near, **known}, constraint)

    def _candidates(
        self, name: str, bounds: Mapping[str, Constraint], known: Mapping[str, int]
    ) -> Iterator[int]:
        """Values to try, the one nearest to the pattern first."""
        bound, step = bounds[name], 1
        for multiple, of in self.slot.multiples.items():
            if name == of and multiple in known:
                yield from self._divisors(name, bound, known[multiple])
                return
            if name == multiple:
                step = known.get(of, 1)
                least = bounds[of].low if of in bounds and bounds[of].values is None else 1
                bound = bound.intersect(Constraint(low=max(1, least)))
        wanted = self.near[name]
        if bound.values is not None:
            numbers = [n for n in bound.values if isinstance(n, int) and n % step == 0]
            yield from sorted(numbers, key=lambda n: (abs(n - wanted), n))
            return
        low = -(-bound.low // step) * step
        last = low + (_TRIES - 1) * step
        high = last if bound.high is None else bound.high // step * step
        if high < low:
            return
        nearest = max(low, wanted // step * step)
        yield nearest if bound.high is None else min(nearest, high)
        yield from range(low, min(high, last) + 1, step)
        if bound.high is None or high > last:
            self.partial = True
            yield high

    def _divisors(self, name: str, bound: Constraint, number: int) -> Iterator[int]:
        wanted = self.near[name]
        self.partial |= number > _DIVISORS**2
        small = [n for n in range(1, min(number, _DIVISORS) + 1) if number % n == 0]
        both = {*small, *(number // n for n in small)}
        yield from sorted((n for n in both if bound.admits(n)), key=lambda n: (abs(n - wanted), n))


def _highest(constraint: Constraint) -> int | None:
    if constraint.values is None:
        return constraint.high
    return max((value for value in constraint.values if isinstance(value, int)), default=None)


def _width(bound: Constraint) -> tuple[int, int]:
    if bound.values is not None:
        return (0, len(bound.values))
    return (1, 0) if bound.high is not None and bound.high == bound.low else (2, 0)
