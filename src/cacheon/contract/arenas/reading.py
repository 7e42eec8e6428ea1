"""An arena's file, read as data: one clear line for everything that does not fit."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from cacheon.contract.arenas.model import (
    COMPILATIONS,
    DEVICES,
    DTYPES,
    ISOLATIONS,
    PROBES,
    Arena,
    Bounds,
    PinnedKey,
    Published,
)
from cacheon.contract.descriptor import GIVEN_FIELDS, NUMBER_FIELDS, Context, text_value
from cacheon.contract.domain import Constraint, Domain
from cacheon.contract.region import Region, Undecided
from cacheon.contract.slots import SLOTS
from cacheon.contract.slots.model import Slot
from cacheon.contract.targets import TARGETS
from cacheon.records.digest import is_digest, sha256
from cacheon.records.fields import Table, kind_of, parse_toml

T = TypeVar("T", bound=str)

NAME = re.compile(r"\A[0-9a-z][0-9a-z._-]{0,63}\Z")
"""Names of arenas and observers."""
_ARCHITECTURE = re.compile(r"\Asm[0-9]{2,3}[a-z]?\Z")
_MOST_WORK = 1 << 40
_MOST_REPLAYS, _MOST_SOAK, _MOST_RANKS = 1000, 100_000, 64
_LARGEST = 1 << 31
"""Elements of one dimension: what an index of 32 bits can still count."""
_KEYS = {
    "name",
    "version",
    "title",
    "targets",
    "device",
    "graph_required",
    "replays",
    "soak",
    "work_budget",
    "quorum",
    "minimum_version",
    "isolation",
    "probes",
    "compilation",
    "context",
    "limits",
    "observers",
    "bounds",
}
_CONTEXT_KEYS = {"architecture", "dtype", "tp_size", "world_size", *GIVEN_FIELDS}


def read_arena(data: bytes, file: str) -> Published:
    """The arena that these bytes say. Raises InputError for an unknown key, another type,
    a value that cannot be, and for what is absent."""
    return Published(arena=_Reader(parse_toml(data, file)).read(), digest=sha256(data))


class _Reader:
    def __init__(self, table: Table) -> None:
        self.table = table

    def read(self) -> Arena:
        table = self.table
        _only(table, _KEYS)
        version = _number(table, "version", 1, _LARGEST)
        observers = self._observers()
        targets = self._targets()
        most = len(observers) or _MOST_RANKS
        return Arena(
            name=_matching(table, "name", NAME, "letters a-z, digits, ., _ and -"),
            version=version,
            title=table.text("title", default=""),
            targets=targets,
            device=_choice(table, "device", DEVICES),
            context=self._context(),
            graph_required=_flag(table, "graph_required"),
            replays=_number(table, "replays", 2, _MOST_REPLAYS),
            soak=_number(table, "soak", 0, _MOST_SOAK),
            work_budget=_number(table, "work_budget", 1, _MOST_WORK),
            quorum=_number(table, "quorum", 1, most),
            minimum_version=_number(table, "minimum_version", 1, version, default=1),
            isolation=_choice(table, "isolation", ISOLATIONS, default="process"),
            limits=self._limits(targets),
            probes=_choices(table, "probes", PROBES),
            compilation=_choices(table, "compilation", COMPILATIONS),
            observers=observers,
            bounds=self._bounds(),
        )

    def _targets(self) -> tuple[str, ...]:
        names = self.table.texts("targets")
        if not names:
            raise self.table.fail("targets", "one or more targets", "none")
        for name in names:
            if name not in TARGETS:
                raise self.table.fail("targets", "registered targets", repr(name))
        return names

    def _context(self) -> Context:
        """The context fields; the graph mode follows from whether graphs are required."""
        table = _required(self.table, "context")
        _only(table, _CONTEXT_KEYS)
        world_size = _number(table, "world_size", 1, _MOST_RANKS, default=1)
        tp_size = _number(table, "tp_size", 1, world_size, default=1)
        if world_size % tp_size:
            raise table.fail("tp_size", f"a divisor of world_size={world_size}", str(tp_size))
        given: dict[str, str | int] = {}
        for field in GIVEN_FIELDS:
            if field in table.values:
                if field in NUMBER_FIELDS:
                    given[field] = _number(table, field, 1, _LARGEST)
                else:
                    given[field] = text_value(field, _text(table, field))
        graph = _flag(self.table, "graph_required")
        return Context(
            dtype=_choice(table, "dtype", DTYPES),
            architecture=_matching(table, "architecture", _ARCHITECTURE, "sm90 and so on"),
            graph_mode="cuda_graph" if graph else "eager",
            tp_size=tp_size,
            world_size=world_size,
            given=given,
        )

    def _limits(self, targets: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Ranges by dimension field. A field that no target's slot has is a mistake: it
        would limit nothing."""
        table = self.table.table("limits") or Table({}, self.table.file, "limits")
        members = [SLOTS[name] for each in targets for name in TARGETS[each].members]
        fields = {field for slot in members for field in slot.fields}
        limits = {}
        for field, written in table.values.items():
            if field not in fields:
                raise table.fail(field, "a dimension field of the targets' slots", "another name")
            if not isinstance(written, list) or len(written) != 2:
                raise table.fail(field, "[lowest, highest]", kind_of(written))
            ends = Table({"lowest": written[0], "highest": written[1]}, table.file, table.at(field))
            low = _number(ends, "lowest", 1, _LARGEST)
            limits[field] = (low, _number(ends, "highest", low, _LARGEST))
        for slot in members:
            self._refuse_empty(slot, limits)
        return limits

    def _refuse_empty(self, slot: Slot, limits: Mapping[str, tuple[int, int]]) -> None:
        """Limits of linked fields may exclude each other (num_tokens and batch_size of one
        call, top_k of a slot that fixes it)."""
        domain = Domain(
            fields={
                field: Constraint(low=low, high=high, declared_low=True)
                for field, (low, high) in limits.items()
                if field in slot.fields
            }
        )
        try:
            found = Region(slot, domain, {}).solve({}, slot.catalogue[0].dims)
        except Undecided:
            return
        if found is None:
            raise self.table.fail("limits", f"limits that leave {slot.name} a call", "none")

    def _observers(self) -> tuple[PinnedKey, ...]:
        rows = self.table.values.get("observers", [])
        if not isinstance(rows, list):
            raise self.table.fail("observers", "[[observers]] rows", kind_of(rows))
        found: list[PinnedKey] = []
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise self.table.fail("observers", "[[observers]] rows", kind_of(row))
            table = Table(row, self.table.file, f"observers[{number}]")
            _only(table, {"name", "key"})
            pinned = PinnedKey(
                name=_matching(table, "name", NAME, "letters a-z, digits, ., _ and -"),
                key=_text(table, "key"),
            )
            if not is_digest(pinned.key):
                raise table.fail("key", "64 lower-case hexadecimal characters", repr(pinned.key))
            for other in found:
                if pinned.name == other.name or pinned.key == other.key:
                    same = "name" if pinned.name == other.name else "key"
                    raise table.fail(same, "one that no other observer has", "it twice")
            found.append(pinned)
        return tuple(found)

    def _bounds(self) -> dict[str, Bounds]:
        table = self.table.table("bounds") or Table({}, self.table.file, "bounds")
        bounds = {}
        for quant in table.values:
            row = _required(table, quant)
            _only(row, {"tolerance", "row_error"})
            bounds[quant] = Bounds(
                tolerance=_share(row, "tolerance"), row_error=_share(row, "row_error")
            )
        return bounds


def _only(table: Table, known: set[str]) -> None:
    for key in table.values:
        if key not in known:
            raise table.fail(key, f"one of {', '.join(sorted(known))}", "an unknown key")


def _required(table: Table, key: str) -> Table:
    found = table.table(key)
    if found is None:
        raise table.fail(key, "a table", "nothing")
    return found


def _text(table: Table, key: str) -> str:
    found = table.text(key)
    if not found or len(found) > 256:
        raise table.fail(key, "text of 1 to 256 characters", f"{len(found)} characters")
    return found


def _matching(table: Table, key: str, pattern: re.Pattern[str], words: str) -> str:
    found = text_value(key, _text(table, key))
    if not pattern.match(found):
        raise table.fail(key, words, repr(found))
    return found


def _flag(table: Table, key: str) -> bool:
    found = table.boolean(key)
    if found is None:
        raise table.fail(key, "a boolean", "nothing")
    return found


def _number(table: Table, key: str, low: int, high: int, *, default: int | None = None) -> int:
    found = table.whole(key)
    found = default if found is None else found
    if found is None:
        raise table.fail(key, "an integer", "nothing")
    if not low <= found <= high:
        raise table.fail(key, f"{low} to {high}", str(found))
    return found


def _share(table: Table, key: str) -> float:
    """A number above 0 and at most 1; NaN is neither."""
    found = table.values.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        got = "nothing" if found is None else kind_of(found)
        raise table.fail(key, "a number", got)
    if not 0 < found <= 1:
        raise table.fail(key, "a number above 0, at most 1", "another")
    return float(found)


def _choice(table: Table, key: str, known: Sequence[T], *, default: T | None = None) -> T:
    found = text_value(key, table.text(key, default=default))
    for each in known:
        if each == found:
            return each
    raise table.fail(key, " or ".join(known), repr(found))


def _choices(table: Table, key: str, known: Sequence[T]) -> tuple[T, ...]:
    """Those of `known` that are listed, in the order of `known`."""
    listed = table.texts(key) or ()
    for each in listed:
        if each not in known:
            raise table.fail(key, f"some of {', '.join(known)}", repr(each))
    return tuple(each for each in known if each in listed)
