"""Which calls a variant is examined with.

The catalogue's shapes, jittered so that no kernel can hard-code them, and one case for
every end that the variant's own domain declares and every value that it lists, found by
taking domain, slot constraints and published limits together. Decided on paper.
"""

import hashlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from cacheon.contract.case import Case, ConcreteTensor
from cacheon.contract.descriptor import Context, describe, with_derived
from cacheon.contract.domain import Constraint, Domain
from cacheon.contract.slots.expression import evaluate, whole
from cacheon.contract.slots.model import Slot, TensorSpec
from cacheon.records.strict import Record

Origin = Literal["catalogue", "boundary", "larger"]
Limits = Mapping[str, tuple[int, int]]

WORK_BUDGET = 2 << 30
"""Bytes of one call's inputs and outputs that an examination may take."""
_ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "int32": 4}
_REDRAWS = 32
_SMALL_COUNT, _SMALL_FEATURE = 48, 512
"""On a CPU: counts that stay at most 64 when jittered, and feature dimensions."""
_FEATURES = ("d", "H", "I", "D")
_STEPS_INWARD = 8192
"""How far inside a declared end the first reachable value is looked for."""


class Coverage(Record):
    """The cases of a variant. `full`: they cover its domain; else `missing` says why not."""

    cases: tuple[Case, ...]
    full: bool
    missing: tuple[str, ...] = ()


def build_case(
    slot: Slot,
    variant: str,
    dims: Mapping[str, int],
    choices: Mapping[str, bool],
    context: Context,
    domain: Domain,
    origin: Origin,
) -> Case:
    """One call with all its concrete shapes; `dims` are base dimensions."""
    known = with_derived(slot, dims)
    descriptor = describe(slot, known, context)
    scalars: dict[str, bool | int | float] = {
        scalar.name: choices.get(scalar.name, evaluate(scalar.expression, known))
        for scalar in slot.scalars
    }
    label = " ".join(f"{field}={descriptor[field]}" for field in _label_fields(slot))
    label += "".join(f" {name}={str(value).lower()}" for name, value in choices.items())
    return Case(
        slot=slot.name,
        variant=variant,
        dims=known,
        scalars=scalars,
        tensors=tuple(_concrete(tensor, known, context.dtype) for tensor in slot.tensors),
        descriptor=descriptor,
        origin=origin,
        applicable=domain.admits(descriptor),
        label=label,
    )


def _label_fields(slot: Slot) -> list[str]:
    """One field for each expression, constants left out: `last_dim` repeats another."""
    seen: set[str] = set()
    fields = []
    for field, expression in slot.fields.items():
        if expression in seen or expression.isdigit() or field == "last_dim":
            continue
        seen.add(expression)
        fields.append(field)
    return fields


def _concrete(spec: TensorSpec, dims: Mapping[str, int], dtype: str) -> ConcreteTensor:
    shape = tuple(whole(expression, dims) for expression in spec.shape)
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    if spec.pitch is not None:
        strides = (whole(spec.pitch, dims), 1)
    span = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    return ConcreteTensor(
        name=spec.name,
        role=spec.role,
        dtype=dtype if spec.dtype == "run" else spec.dtype,
        shape=shape,
        strides=strides,
        span=span,
        dynamic=spec.dynamic,
        rank_varying=spec.rank_varying,
    )


def work_of(case: Case) -> int:
    """Bytes of the inputs and outputs of one call."""
    return sum(tensor.span * _ITEM_BYTES[tensor.dtype] for tensor in case.tensors)


def valid(slot: Slot, dims: Mapping[str, int]) -> bool:
    """Whether base dimensions respect the slot's own constraints."""
    known = with_derived(slot, dims)
    if any(value < 1 for value in dims.values()):
        return False
    if any(known[a] > known[b] for a, b in slot.limits):
        return False
    return all(known[name] % known[of] == 0 for name, of in slot.multiples.items())


class _Planner:
    def __init__(
        self,
        slot: Slot,
        variant: str,
        domain: Domain,
        context: Context,
        seed: int,
        limits: Limits,
        budget: int,
        small: bool,
    ) -> None:
        self.slot, self.variant, self.domain, self.context = slot, variant, domain, context
        self.seed, self.limits, self.budget, self.small = seed, limits, budget, small
        self.cases: list[Case] = []
        self.missing: list[str] = []
        self.bases: list[tuple[dict[str, int], dict[str, bool]]] = []

    def plan(self) -> Coverage:
        for index, shape in enumerate(self.slot.catalogue):
            dims = self._shrunk(shape.dims, shape.choices) if self.small else dict(shape.dims)
            self.bases.append((dims, shape.choices))
            self.cases.append(self._jittered(index, dims, shape.choices))
        for field in self.slot.fields:
            if field in self.domain.fields:
                self._cover(field)
        return Coverage(cases=tuple(self.cases), full=not self.missing, missing=tuple(self.missing))

    def _case(self, dims: Mapping[str, int], choices: Mapping[str, bool], origin: Origin) -> Case:
        return build_case(self.slot, self.variant, dims, choices, self.context, self.domain, origin)

    def _fits(self, case: Case) -> bool:
        within = all(
            low <= int(case.descriptor[field]) <= high
            for field, (low, high) in self.limits.items()
            if field in self.slot.fields
        )
        return case.applicable and within and work_of(case) <= self.budget

    def _is_new(self, case: Case) -> bool:
        return all(
            (case.descriptor, case.scalars) != (known.descriptor, known.scalars)
            for known in self.cases
        )

    # --- the catalogue ---------------------------------------------------------------------

    def _jittered(self, index: int, dims: dict[str, int], choices: Mapping[str, bool]) -> Case:
        own = self._case(dims, choices, "catalogue")
        if not self._fits(own):
            return own
        text = f"{self.seed}:{self.slot.name}:{self.variant}:{index}"
        draws = random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
        for _ in range(_REDRAWS):
            drawn = dict(dims)
            for name in self.slot.counts:
                drawn[name] = self._draw(name, dims, draws)
            if not valid(self.slot, drawn):
                continue
            case = self._case(drawn, choices, "catalogue")
            if self._fits(case) and self._is_new(case):
                return case
        return own

    def _draw(self, name: str, dims: Mapping[str, int], draws: random.Random) -> int:
        count = dims[name]
        drawn = draws.randint(max(1, math.ceil(0.75 * count)), math.floor(1.25 * count) + 3)
        if name in self.slot.multiples:
            step = with_derived(self.slot, dims)[self.slot.multiples[name]]
            drawn = max(step, round(drawn / step) * step)
        return drawn

    def _shrunk(self, dims: Mapping[str, int], choices: Mapping[str, bool]) -> dict[str, int]:
        """A small form of a catalogue shape; it never leaves the domain by shrinking."""
        counts, features = dict(dims), dict(dims)
        for name in self.slot.counts:
            if name not in self.slot.multiples:
                counts[name] = min(dims[name], _SMALL_COUNT)
        for name in _FEATURES:
            while features.get(name, 0) > _SMALL_FEATURE and features[name] % 2 == 0:
                features[name] //= 2
        both = {name: min(counts[name], features[name]) for name in dims}
        for form in (both, features, counts):
            if valid(self.slot, form) and self._case(form, choices, "catalogue").applicable:
                return form
        return dict(dims)

    # --- the ends of the domain --------------------------------------------------------------

    def _cover(self, field: str) -> None:
        constraint = self.domain.fields[field]
        if field in self.limits:
            low, high = self.limits[field]
            constraint = constraint.intersect(Constraint(low=low, high=high, declared_low=True))
        if constraint.values is not None:
            for value in constraint.values:
                if isinstance(value, int):
                    self._cover_value(field, [value], f"{field}={value}")
            return
        if constraint.declared_low:
            top = constraint.high if constraint.high is not None else constraint.low + _STEPS_INWARD
            reach = range(constraint.low, min(top, constraint.low + _STEPS_INWARD) + 1)
            self._cover_value(field, reach, f"{field}>={constraint.low}")
        if constraint.high is not None:
            bottom = max(constraint.low, constraint.high - _STEPS_INWARD)
            reach = range(constraint.high, bottom - 1, -1)
            self._cover_value(field, reach, f"{field}<={constraint.high}")

    def _cover_value(self, field: str, values: Sequence[int], end: str) -> None:
        """A case at the first of these values that the slot can have."""
        for value in values:
            if any(c.applicable and c.descriptor[field] == value for c in self.cases):
                return
            cheapest: Case | None = None
            for dims, choices in self._reaching(field, value):
                case = self._case(dims, choices, "boundary")
                if not case.applicable:
                    continue
                if cheapest is None or work_of(case) < work_of(cheapest):
                    cheapest = case
            if cheapest is None:
                continue
            if work_of(cheapest) > self.budget:
                self.missing.append(
                    f"{end}: a call of {work_of(cheapest) / 2**30:.1f} GiB is more than the work "
                    f"budget of {self.budget / 2**30:.1f} GiB"
                )
                return
            if self._is_new(cheapest):
                self.cases.append(cheapest)
            return

    def _reaching(self, field: str, value: int) -> Iterator[tuple[dict[str, int], dict[str, bool]]]:
        """Base dimensions, from each catalogue shape, at which the field has the value and
        every other constrained field is inside its domain."""
        for dims, choices in self.bases:
            for solved in self._solve({field: (value,)}, dims, frozenset()):
                yield solved, choices

    def _solve(
        self, wanted: Mapping[str, Sequence[int]], dims: Mapping[str, int], fixed: frozenset[str]
    ) -> Iterator[dict[str, int]]:
        if wanted:
            field, *rest = wanted
            for value in wanted[field]:
                for name, number in self._inverse(field, value, dims, fixed):
                    moved = {**dims, name: number}
                    remaining = {other: wanted[other] for other in rest}
                    yield from self._solve(remaining, moved, fixed | {name})
            return
        known = with_derived(self.slot, dims)
        for field, expression in self.slot.fields.items():
            constraint = self.domain.fields.get(field)
            if constraint is None or constraint.admits(whole(expression, known)):
                continue
            # Another constrained field is outside: move it to the nearest values inside.
            near = _nearest(constraint, whole(expression, known))
            yield from self._solve({field: near}, dims, fixed)
            return
        repaired = self._repaired(dims, fixed)
        if repaired is not None:
            yield repaired

    def _inverse(
        self, field: str, value: int, dims: Mapping[str, int], fixed: frozenset[str]
    ) -> Iterator[tuple[str, int]]:
        """Each base dimension by which the field can take the value: the expressions are
        linear in every one of them."""
        expression = self.slot.fields[field]
        for name in dims:
            if name in fixed:
                if whole(expression, with_derived(self.slot, dims)) == value:
                    yield name, dims[name]
                continue
            zero = whole(expression, with_derived(self.slot, {**dims, name: 0}))
            one = whole(expression, with_derived(self.slot, {**dims, name: 1}))
            if one != zero and (value - zero) % (one - zero) == 0:
                number = (value - zero) // (one - zero)
                if number >= 1:
                    yield name, number

    def _repaired(self, dims: Mapping[str, int], fixed: frozenset[str]) -> dict[str, int] | None:
        """Make the slot's own constraints hold by moving dimensions that are still free."""
        moved = dict(dims)
        for name, of in self.slot.multiples.items():
            step = with_derived(self.slot, moved)[of]
            if moved.get(name, 0) % step == 0:
                continue
            if name not in fixed:
                moved[name] = max(1, round(moved[name] / step)) * step
            elif of in moved and of not in fixed:
                moved[of] = math.gcd(moved[name], moved[of])
        for small, large in self.slot.limits:
            if moved[small] > moved[large]:
                if large not in fixed:
                    moved[large] = moved[small]
                elif small not in fixed:
                    moved[small] = moved[large]
        return moved if valid(self.slot, moved) else None


def _nearest(constraint: Constraint, value: int) -> list[int]:
    if constraint.values is not None:
        numbers = [number for number in constraint.values if isinstance(number, int)]
        return sorted(numbers, key=lambda number: abs(number - value))[:16]
    if value < constraint.low:
        return list(range(constraint.low, constraint.low + 64))
    if constraint.high is None:
        return [value]
    return list(range(constraint.high, max(constraint.low, constraint.high - 64) - 1, -1))


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
    arena's, by descriptor field; `small` is the form for a CPU."""
    planner = _Planner(slot, variant, domain, context, seed, limits or {}, work_budget, small)
    return planner.plan()


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
    planner = _Planner(slot, case.variant, domain, context, 0, limits or {}, work_budget, False)
    names = [name for name in case.dims if name not in slot.derived]
    base = {name: case.dims[name] for name in names}
    choices = {
        scalar.name: bool(case.scalars[scalar.name])
        for scalar in slot.scalars
        if any(scalar.name in shape.choices for shape in slot.catalogue)
    }
    for counts in (slot.counts, *((name,) for name in slot.counts)):
        for grow in (lambda n: 2 * n, lambda n: n + max(1, n // 4), lambda n: n + 1):
            dims = {**base, **{name: grow(base[name]) for name in counts}}
            if not valid(slot, dims):
                continue
            bigger = build_case(slot, case.variant, dims, choices, context, domain, "larger")
            if planner._fits(bigger):
                return bigger
    return build_case(slot, case.variant, base, choices, context, domain, "larger")
