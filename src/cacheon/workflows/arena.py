"""`arena`: what will be required, told before anybody invests."""

from pathlib import Path

from cacheon.contract.arenas import Published, arena_names, read_arena, shipped_arena
from cacheon.contract.building import build_case
from cacheon.contract.domain import Domain
from cacheon.contract.slots import SLOTS
from cacheon.contract.targets import TARGETS
from cacheon.contract.targets import target as target_of
from cacheon.evidence.contracts import contract_digest
from cacheon.records.errors import InputError
from cacheon.records.strict import Record
from cacheon.workflows.reading import read_bytes

_SUFFIX = ".toml"


class MemberOutlook(Record):
    """What is asked of one member of a target. `calls`: the published ones, before their
    counts are jittered. `limits`: the arena's, as far as the slot has the field.
    `live_mode`: the graph_mode that the slot's descriptor always carries, else empty; it
    exempts nobody."""

    slot: str
    contract: str
    calls: tuple[str, ...]
    limits: dict[str, tuple[int, int]]
    live_mode: str


class TargetOutlook(Record):
    """A target of an arena, member by member."""

    target: str
    members: tuple[MemberOutlook, ...]


class Outlook(Record):
    """An arena and what it asks for each of some of its targets."""

    published: Published
    targets: tuple[TargetOutlook, ...]


def list_arenas() -> tuple[Published, ...]:
    """Every arena that is shipped."""
    return tuple(shipped_arena(name) for name in arena_names())


def find_arena(named: str) -> Published:
    """A shipped arena by its name, or a file that ends in .toml. Raises InputError."""
    if named.endswith(_SUFFIX):
        return check_arena(Path(named))
    return shipped_arena(named)


def check_arena(path: Path) -> Published:
    """The arena of a file, read as data. Raises InputError, one line with file and place."""
    return read_arena(read_bytes(path), str(path))


def outlook(named: str) -> tuple[Outlook, ...]:
    """What a target will be asked in every shipped arena that holds it; or everything that
    one arena asks, where an arena is named. Raises InputError where it is neither."""
    if named in TARGETS:
        arenas = [each for each in list_arenas() if named in each.arena.targets]
        return tuple(_outlook(each, (named,)) for each in arenas)
    if not named.endswith(_SUFFIX) and named not in arena_names():
        known = ", ".join(arena_names())
        raise InputError(
            place="arena",
            expected=f"a target, a .toml file, or one of {known}",
            got=repr(named),
        )
    found = find_arena(named)
    return (_outlook(found, found.arena.targets),)


def _outlook(published: Published, targets: tuple[str, ...]) -> Outlook:
    return Outlook(
        published=published,
        targets=tuple(
            TargetOutlook(
                target=name,
                members=tuple(_member(published, slot) for slot in target_of(name).members),
            )
            for name in targets
        ),
    )


def _member(published: Published, name: str) -> MemberOutlook:
    slot, arena = SLOTS[name], published.arena
    calls = [
        build_case(slot, "", shape.dims, shape.choices, arena.context, Domain(), "catalogue")
        for shape in slot.catalogue
    ]
    return MemberOutlook(
        slot=name,
        contract=contract_digest(slot),
        calls=tuple(case.label for case in calls),
        limits={field: ends for field, ends in arena.limits.items() if field in slot.fields},
        live_mode=str(slot.context.get("graph_mode", "")),
    )
