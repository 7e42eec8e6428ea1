"""What a pointer reaches, directly or through records that name others."""

from cacheon.evidence.store.errors import StoreRefused
from cacheon.evidence.store.port import References, Store
from cacheon.records.errors import InputError
from cacheon.records.strict import Record


class Reach(Record):
    """`broken` says of each reached digest that could not be followed why: what it names
    is unknown then, and nothing may be called unreachable. `pointers` likewise says of a
    pointer, by kind and name, why it leads nowhere."""

    reached: frozenset[str]
    broken: dict[str, str]
    pointers: dict[str, str]

    @property
    def whole(self) -> bool:
        return not self.broken and not self.pointers


def reach(store: Store, references: References) -> Reach:
    """Follow every pointer. Damage is reported, not raised; StoreFailed is raised.

    `references` raises InputError for bytes that it cannot read."""
    pointers: dict[str, str] = {}
    waiting: list[str] = []
    try:
        names = [(kind, name) for kind in store.kinds() for name in store.names(kind)]
    except StoreRefused as error:
        return Reach(reached=frozenset(), broken={}, pointers={"pointers": str(error)})
    for kind, name in names:
        try:
            waiting += filter(None, [store.pointer(kind, name)])
        except StoreRefused as error:
            pointers[f"{kind}/{name}"] = str(error)
    reached: set[str] = set()
    broken: dict[str, str] = {}
    while waiting:
        digest = waiting.pop()
        if digest in reached:
            continue
        reached.add(digest)
        try:
            waiting += references(store.get(digest))
        except InputError as error:
            broken[digest] = str(error)
    return Reach(reached=frozenset(reached), broken=broken, pointers=pointers)
