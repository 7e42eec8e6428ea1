"""Which calls a variant is examined with.

The catalogue's shapes, jittered so that no kernel can hard-code them, and one case for
every end that the variant's own domain declares and every value that it lists, found by
taking domain, slot constraints and published limits together. Decided on paper.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from cacheon.contract.building import (
    Origin,
    base_of,
    build_case,
    choices_of,
    valid,
    work_of,
)
from cacheon.contract.case import Case
from cacheon.contract.descriptor import Context, with_derived
from cacheon.contract.domain import Constraint, Domain
from cacheon.contract.region import Limits, Region, Undecided
from cacheon.contract.slots.expression import whole
from cacheon.contract.slots.model import Slot
from cacheon.records.strict import Record

__all__ = ["WORK_BUDGET", "Coverage", "build_case", "cases_for", "larger", "valid", "work_of"]

WORK_BUDGET = 2 << 30
"""Bytes of one call's inputs and outputs that an examination may take."""
MOST_BOUNDARIES = 128
"""Cases beyond the catalogue's: a domain that lists more values is covered in part."""
_REDRAWS = 64
_SMALL_COUNT, _SMALL_FEATURE = 16, 512
"""On a CPU: counts that stay at most 64 when jittered, and feature dimensions."""
_TILE = 16
"""On a CPU the counts of one case are multiples of it: so few are drawn there, and so small,
that a kernel which is wrong only where nothing is left over would hang on luck. Of the full
sizes evidence names seeds, whose draws stay as they are."""
_INWARD = 4096
"""How far inside a declared end the first value that a call can have is looked for."""


class Coverage(Record):
    """The cases of a variant. `full`: they cover its domain; else `missing` says why not."""

    cases: tuple[Case, ...]
    full: bool
    missing: tuple[str, ...] = ()


class _Planner:
    def __init__(
        self,
        slot: Slot,
        variant: str,
        domain: Domain,
        context: Context,
        limits: Limits,
        budget: int,
    ) -> None:
        self.slot, self.variant, self.domain, self.context = slot, variant, domain, context
        self.limits, self.budget = limits, budget
        self.cases: list[Case] = []
        self.missing: list[str] = []

    def case(self, dims: Mapping[str, int], choices: Mapping[str, bool], origin: Origin) -> Case:
        return build_case(self.slot, self.variant, dims, choices, self.context, self.domain, origin)

    def fits(self, case: Case) -> bool:
        """Whether domain, limits and budget leave room for a case."""
        within = all(
            low <= int(case.descriptor[field]) <= high
            for field, (low, high) in self.limits.items()
            if field in self.slot.fields
        )
        return case.applicable and within and work_of(case) <= self.budget

    def is_new(self, case: Case) -> bool:
        return all(_key(case) != _key(known) for known in self.cases)

    # --- the catalogue ---------------------------------------------------------------------

    def add_catalogue(self, seed: int, small: bool) -> None:
        shapes = [
            (self._shrunk(shape.dims, shape.choices) if small else shape.dims, shape.choices)
            for shape in self.slot.catalogue
        ]
        reserved = {_key(self.case(dims, choices, "catalogue")) for dims, choices in shapes}
        run = f"{seed}:{self.slot.name}:{self.variant}"
        whole = self._whole_tiles(run, shapes) if small else -1
        for index, (dims, choices) in enumerate(shapes):
            case = self._jittered(f"{run}:{index}", dims, choices, index == whole)
            own = self.case(dims, choices, "catalogue")
            if case is None or (_key(case) != _key(own) and _key(case) in reserved):
                case = own
            if self.is_new(case):
                self.cases.append(case)

    def _whole_tiles(
        self, run: str, shapes: Sequence[tuple[Mapping[str, int], Mapping[str, bool]]]
    ) -> int:
        """Which shape's counts are drawn as multiples of a tile, -1 where none can be."""
        able = [
            index
            for index, (dims, choices) in enumerate(shapes)
            if self.case(dims, choices, "catalogue").applicable
            and any(_whole(self._jitter(count, dims)) for count in self.slot.counts)
        ]
        return able[_number(f"{run}:tiles") % len(able)] if able else -1

    def _jittered(
        self, name: str, dims: Mapping[str, int], choices: Mapping[str, bool], whole: bool
    ) -> Case | None:
        """The shape with its counts drawn anew, as multiples of a tile where `whole` and
        there are any; None where none of the draws will do. A shape that the domain does not
        admit is none of the variant's calls, and stays."""
        if not self.case(dims, choices, "catalogue").applicable:
            return None
        for attempt in range(_REDRAWS):
            drawn = dict(dims)
            for count in self.slot.counts:
                values: Sequence[int] = self._jitter(count, dims)
                if whole:
                    values = _whole(values) or values
                drawn[count] = values[_number(f"{name}:{attempt}:{count}") % len(values)]
            if not valid(self.slot, drawn):
                continue
            case = self.case(drawn, choices, "catalogue")
            if self.fits(case) and self.is_new(case):
                return case
        return None

    def _jitter(self, count: str, dims: Mapping[str, int]) -> range:
        """What a count n may become: from ⌈0.75 n⌉ to ⌊1.25 n⌋ + 3, in steps of what it is
        a multiple of."""
        step = 1
        if count in self.slot.multiples:
            step = with_derived(self.slot, dims)[self.slot.multiples[count]]
        low, high = max(1, -(-3 * dims[count] // 4)), 5 * dims[count] // 4 + 3
        return range(-(-low // step) * step, high + 1, step)

    def _shrunk(self, dims: Mapping[str, int], choices: Mapping[str, bool]) -> Mapping[str, int]:
        """A small form of a catalogue shape; it never leaves the domain by shrinking.
        Dimensions that are tied to others, and numbers of heads and experts, stay."""
        tied = {*self.slot.multiples, *self.slot.multiples.values()}
        tied |= {name for pair in self.slot.limits for name in pair} - {*self.slot.counts}
        counts, features = dict(dims), dict(dims)
        for name in {*dims} - tied:
            if name in self.slot.counts:
                counts[name] = min(dims[name], _SMALL_COUNT)
            else:
                while features[name] > _SMALL_FEATURE and features[name] % 2 == 0:
                    features[name] //= 2
        for name in self.slot.counts:
            if name not in tied:
                counts[name] = self._nearest(name, counts, dims[name])
        for least, most in self.slot.limits:
            if least in self.slot.counts:
                counts[most] = max(counts[least], counts[most])
        both = {name: min(counts[name], features[name]) for name in dims}
        for form in (both, features, counts):
            if valid(self.slot, form) and self.case(form, choices, "catalogue").applicable:
                return form
        return dims

    def _nearest(self, count: str, dims: Mapping[str, int], most: int) -> int:
        """The value of a count, from 1 to `most`, that the domain admits and that is nearest
        to what it is; `most` where it admits none."""
        region = Region(self.slot, self.domain, self.limits)
        bound = Constraint(low=1, high=most)
        for field, reads in region.reads.items():
            if count in reads:
                bound = bound.intersect(region.inverted(field, count, dims))
        wanted = dims[count]
        ends = (wanted, bound.low, bound.high) if bound.values is None else bound.values
        admitted = [int(n) for n in ends if n is not None and bound.admits(n)]
        return min(admitted, key=lambda n: (abs(n - wanted), n), default=most)

    # --- the ends of the domain --------------------------------------------------------------

    def add_boundaries(self, small: bool) -> None:
        """A case at every declared end and listed value that no case has yet. Where no
        call in this context is the variant's, there is nothing to cover."""
        fields = [field for field in self.slot.fields if field in self.domain.fields]
        if not fields or self._out_of_context():
            return
        region = Region(self.slot, self.domain, self.limits)
        near = [
            (dict(self._shrunk(shape.dims, shape.choices) if small else shape.dims), shape.choices)
            for shape in self.slot.catalogue
        ]
        least = (dict.fromkeys(region.base, 1), self.slot.catalogue[0].choices)
        for field in fields:
            for end, values in _ends(field, region.reach(field)):
                if sum(case.origin == "boundary" for case in self.cases) >= MOST_BOUNDARIES:
                    self.missing.append(f"{end} and what follows: too many cases for one domain")
                    return
                self._cover(region, field, end, values, [*near, least])

    def _out_of_context(self) -> bool:
        """Whether fields that are no dimensions already exclude every call."""
        any_call = self.case(
            self.slot.catalogue[0].dims, self.slot.catalogue[0].choices, "boundary"
        )
        facts = {f: v for f, v in any_call.descriptor.items() if f not in self.slot.fields}
        rest = {f: c for f, c in self.domain.fields.items() if f not in self.slot.fields}
        return not Domain(fields=rest).admits(facts)

    def _cover(
        self,
        region: Region,
        field: str,
        end: str,
        values: range | tuple[int, ...],
        near: list[tuple[dict[str, int], Mapping[str, bool]]],
    ) -> None:
        """A case at the first of `values` that a call can have."""
        for value in values[:_INWARD]:
            if any(c.descriptor[field] == value and self.fits(c) for c in self.cases):
                return
            try:
                if region.solve({field: value}, near[0][0]) is None:
                    continue
                self._add_nearest(region, field, value, end, near)
            except Undecided:
                self.missing.append(f"{end}: whether a call has {field}={value} was not decided")
            return
        if len(values) > _INWARD:
            self.missing.append(f"{end}: no call found within {_INWARD} of it")

    def _add_nearest(
        self,
        region: Region,
        field: str,
        value: int,
        end: str,
        near: list[tuple[dict[str, int], Mapping[str, bool]]],
    ) -> None:
        """Of the calls near each catalogue shape, the first within budget, by the distance
        of the shape from the value, then by work; at last the least call of all."""
        *shapes, least = [
            (abs(whole(self.slot.fields[field], with_derived(self.slot, dims)) - value), case)
            for dims, choices in near
            for solved in (region.solve({field: value}, dims),)
            if solved is not None
            for case in (self.case(solved, choices, "boundary"),)
        ]
        shapes.sort(key=lambda each: (each[0], work_of(each[1])))
        found = [case for _, case in (*shapes, least)]
        fitting = next((case for case in found if self.fits(case)), None)
        if fitting is not None:
            self.cases.append(fitting)
            return
        work = min(map(work_of, found))
        self.missing.append(
            f"{end}: a call of {work / 2**30:.2f} GiB is more than the work budget of "
            f"{self.budget / 2**30:.2f} GiB"
        )


def _key(case: Case) -> tuple[object, ...]:
    return (*sorted(case.descriptor.items()), *sorted(case.scalars.items()))


def _whole(values: Sequence[int]) -> list[int]:
    return [value for value in values if value % _TILE == 0]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _ends(field: str, constraint: Constraint) -> Iterable[tuple[str, range | tuple[int, ...]]]:
    """What is to be covered, in words, with the values to try for it, best first."""
    if constraint.values is not None:
        for value in map(int, constraint.values):
            yield f"{field}={value}", (value,)
        return
    if constraint.declared_low:
        above = constraint.low + _INWARD
        top = above if constraint.high is None else constraint.high
        yield f"{field}>={constraint.low}", range(constraint.low, top + 1)
    if constraint.high is not None:
        yield f"{field}<={constraint.high}", range(constraint.high, constraint.low - 1, -1)


def cases_for(
    slot: Slot,
    variant: str,
    domain: Domain,
    context: Context,
    *,
    seed: int,
    limits: Limits | None = None,
    work_budget: int = WORK_BUDGET,
    small: bool = False,
) -> Coverage:
    """The cases of a variant: a pure function of what it is given.

    Catalogue shapes outside the domain are there too, as not applicable. `limits` are an
    arena's, (lowest, highest) by descriptor field; `work_budget` is in bytes of one call's
    inputs and outputs; `small` is the form for a CPU."""
    planner = _Planner(slot, variant, domain, context, limits or {}, work_budget)
    planner.add_catalogue(seed, small)
    planner.add_boundaries(small)
    missing = tuple(planner.missing)
    return Coverage(cases=tuple(planner.cases), full=not missing, missing=missing)


def larger(
    case: Case,
    slot: Slot,
    domain: Domain,
    context: Context,
    *,
    limits: Limits | None = None,
    work_budget: int = WORK_BUDGET,
) -> Case:
    """The case with its counts doubled, or one of them, or one a little larger: the first
    that domain, limits and budget leave room for; the same call where none is."""
    planner = _Planner(slot, case.variant, domain, context, limits or {}, work_budget)
    base, choices = base_of(slot, case), choices_of(slot, case)
    for counts in dict.fromkeys((slot.counts, *((name,) for name in slot.counts))):
        for share in (1, 2, 4, 8, 16, 1 << 60):
            dims = dict(base)
            for name in counts:
                step = case.dims[slot.multiples[name]] if name in slot.multiples else 1
                dims[name] += max(1, base[name] // share // step) * step
            bigger = planner.case(dims, choices, "larger")
            if valid(slot, dims) and planner.fits(bigger):
                return bigger
    return planner.case(base, choices, "larger")
