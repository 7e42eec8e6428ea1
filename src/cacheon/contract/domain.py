"""Capability domains: which calls a variant serves.

A domain maps descriptor fields to constraints, all of which must hold. A field that the
descriptor lacks is a mismatch, never a wildcard.
"""

import itertools
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from cacheon.contract.descriptor import NUMBER_FIELDS, TEXT_FIELDS, field_name, text_value
from cacheon.records.errors import InputError, LimitExceeded
from cacheon.records.strict import Record

MOST_VALUES = 1024
"""Values that one predicate may list."""
LONGEST_VALUE = 256
"""Characters of a text value."""
_LARGEST = 1 << 53


class Constraint(Record, kw_only=True):
    """What one field may be: one of `values`, or, where that is None, from `low` to `high`
    inclusive (`high` None: without end). `declared_low` tells a stated lower end from the
    zero that every number has."""

    values: tuple[str | int, ...] | None = None
    low: int = 0
    high: int | None = None
    declared_low: bool = False

    def admits(self, value: str | int) -> bool:
        if self.values is not None:
            return value in self.values
        if isinstance(value, str):
            return False
        return self.low <= value and (self.high is None or value <= self.high)

    @property
    def is_empty(self) -> bool:
        if self.values is not None:
            return not self.values
        return self.high is not None and self.high < self.low

    def intersect(self, other: "Constraint") -> "Constraint":
        if self.values is not None and other.values is not None:
            # A set: lists are long where somebody wants a bundle to take long.
            common = frozenset(other.values)
            return Constraint(values=tuple(v for v in self.values if v in common))
        if self.values is not None:
            return Constraint(values=tuple(v for v in self.values if other.admits(v)))
        if other.values is not None:
            return other.intersect(self)
        highs = [high for high in (self.high, other.high) if high is not None]
        return Constraint(
            low=max(self.low, other.low),
            high=min(highs, default=None),
            declared_low=self.declared_low or other.declared_low,
        )

    def words(self) -> str:
        if self.values is not None:
            return " or ".join(str(value) for value in self.values) or "nothing"
        if self.high is None:
            return f"at least {self.low}"
        return f"{self.low} to {self.high}"


class Domain(Record):
    """Constraints by field; a field that is not there is free."""

    fields: dict[str, Constraint] = {}

    def mismatch(self, descriptor: Mapping[str, str | int]) -> str:
        """Empty where the descriptor is admitted; else the first reason it is not."""
        for field, constraint in self.fields.items():
            if field not in descriptor:
                return f"{field} is not a fact of this call"
            if not constraint.admits(descriptor[field]):
                return f"{field}={descriptor[field]} is not {constraint.words()}"
        return ""

    def admits(self, descriptor: Mapping[str, str | int]) -> bool:
        return not self.mismatch(descriptor)

    def intersect(self, other: "Domain") -> "Domain":
        """Calls that both serve."""
        fields = dict(self.fields)
        for field, constraint in other.fields.items():
            known = fields.get(field)
            fields[field] = constraint if known is None else known.intersect(constraint)
        return Domain(fields=fields)

    def restrict(self, field: str, constraint: Constraint) -> "Domain":
        return self.intersect(Domain(fields={field: constraint}))

    @property
    def is_empty(self) -> bool:
        return bool(self.empty_field)

    @property
    def empty_field(self) -> str:
        """A field that nothing can satisfy; empty where there is none."""
        for field, constraint in self.fields.items():
            if constraint.is_empty:
                return field
        return ""


def disjoint(one: Domain, other: Domain) -> bool:
    """Whether no call can satisfy both: some field's constraints exclude each other."""
    return overlap((one, other)) is None


def overlap(domains: Sequence[Domain]) -> tuple[int, int] | None:
    """The places of the first two that some call may satisfy both of; None where each
    excludes every other."""
    able = [place for place, domain in enumerate(domains) if not domain.is_empty]
    # Made once each, and not for every pair: long lists would take long.
    fields = {
        place: {name: _Met(field) for name, field in domains[place].fields.items()}
        for place in able
    }
    for one, other in itertools.combinations(able, 2):
        mine, yours = fields[one], fields[other]
        if all(mine[name].meets(yours[name]) for name in mine.keys() & yours.keys()):
            return one, other
    return None


class _Met:
    """A constraint, made ready to be held against many."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.listed = None if constraint.values is None else frozenset(constraint.values)
        self.sorted = sorted(value for value in self.listed or () if isinstance(value, int))

    def meets(self, other: "_Met") -> bool:
        """Whether one value satisfies both."""
        if self.listed is not None and other.listed is not None:
            return not self.listed.isdisjoint(other.listed)
        if self.listed is not None:
            # The smallest that is not below the range is the only one to ask.
            place = bisect_left(self.sorted, other.constraint.low)
            return any(map(other.constraint.admits, self.sorted[place : place + 1]))
        if other.listed is not None:
            return other.meets(self)
        return not self.constraint.intersect(other.constraint).is_empty


def parse_domain(capabilities: Mapping[str, Any], file: str) -> Domain:
    """The domain of a `capabilities` object. Raises InputError at the offending field."""
    fields: dict[str, Constraint] = {}
    for written, predicate in capabilities.items():
        field = field_name(written)
        place = f"capabilities.{written}"
        if field not in TEXT_FIELDS | NUMBER_FIELDS:
            raise _unknown(field, file, place)
        if field in fields:
            raise InputError(
                file=file, place=place, expected=f"{field} once", got="two spellings of it"
            )
        fields[field] = _constraint(field, predicate, file, place)
    return Domain(fields=fields)


def _unknown(field: str, file: str, place: str) -> InputError:
    # Imported here: only a mistake needs it, and it takes as long to load as all the rest.
    from difflib import get_close_matches

    near = get_close_matches(field[:64], sorted(TEXT_FIELDS | NUMBER_FIELDS), n=1)
    known = f"a descriptor field such as {near[0]}" if near else "a descriptor field"
    return InputError(file=file, place=place, expected=known, got="an unknown name")


def _constraint(field: str, predicate: Any, file: str, place: str) -> Constraint:
    if isinstance(predicate, dict):
        return _object(field, predicate, file, place)
    if isinstance(predicate, list):
        return Constraint(values=_several(field, predicate, file, place))
    return Constraint(values=_several(field, [predicate], file, place))


def _object(field: str, predicate: dict[str, Any], file: str, place: str) -> Constraint:
    """`exact`, `one_of`, `min`, `max`: all that are there must hold together."""
    unknown = sorted(predicate.keys() - {"exact", "one_of", "min", "max"})
    if unknown or not predicate:
        raise InputError(
            file=file,
            place=place,
            expected="exact, one_of, min or max",
            got=unknown[0] if unknown else "an empty object",
        )
    constraint: Constraint | None = None
    parts = []
    if "exact" in predicate:
        parts.append(Constraint(values=_several(field, [predicate["exact"]], file, place)))
    if "one_of" in predicate:
        listed = predicate["one_of"]
        if not isinstance(listed, list):
            raise InputError(
                file=file, place=f"{place}.one_of", expected="a list", got=_kind(listed)
            )
        parts.append(Constraint(values=_several(field, listed, file, place)))
    if "min" in predicate or "max" in predicate:
        parts.append(_range(field, predicate, file, place))
    for part in parts:
        constraint = part if constraint is None else constraint.intersect(part)
    return constraint if constraint is not None else Constraint()


def _range(field: str, predicate: dict[str, Any], file: str, place: str) -> Constraint:
    if field in TEXT_FIELDS:
        raise InputError(
            file=file, place=place, expected="exact or one_of: the field is text", got="a range"
        )
    low, high = 0, None
    if "min" in predicate:
        low = max(0, math.ceil(_number(predicate["min"], file, f"{place}.min")))
    if "max" in predicate:
        high = math.floor(_number(predicate["max"], file, f"{place}.max"))
    return Constraint(low=low, high=high, declared_low="min" in predicate)


def _several(field: str, values: list[Any], file: str, place: str) -> tuple[str | int, ...]:
    if len(values) > MOST_VALUES:
        raise LimitExceeded(
            file=file, place=place, expected=f"at most {MOST_VALUES} values", got=str(len(values))
        )
    if field in NUMBER_FIELDS and _all_whole(values):
        return tuple(dict.fromkeys(values))
    found = (_one(field, value, file, place) for value in values)
    return tuple(dict.fromkeys(value for value in found if value is not None))


def _one(field: str, value: Any, file: str, place: str) -> str | int | None:
    """A value in its own spelling; None for a number that no descriptor can hold."""
    if field in TEXT_FIELDS:
        if not isinstance(value, str):
            raise InputError(file=file, place=place, expected="text", got=_kind(value))
        if not value.isprintable() or len(value) > LONGEST_VALUE:
            raise InputError(
                file=file,
                place=place,
                expected=f"printable text of at most {LONGEST_VALUE} characters",
                got="other text",
            )
        return text_value(field, value)
    number = _number(value, file, place)
    return int(number) if number == int(number) and number >= 0 else None


def _all_whole(values: list[Any]) -> bool:
    """Whether each stands for itself: most lists are so, and need no look at each value."""
    return {*map(type, values)} == {int} and min(values) >= 0 and max(values) <= _LARGEST


def _number(value: Any, file: str, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(file=file, place=place, expected="a number", got=_kind(value))
    if not abs(value) <= _LARGEST:
        raise LimitExceeded(
            file=file, place=place, expected="a number within ±2^53", got="a larger one"
        )
    return value


def _kind(value: Any) -> str:
    names = {
        bool: "a boolean",
        str: "text",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)
