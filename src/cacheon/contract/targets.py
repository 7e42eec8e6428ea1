"""Targets: what a competition names. Each slot is one; an atomic target has members."""

from cacheon.contract.slots import SLOTS
from cacheon.records.errors import InputError
from cacheon.records.strict import Record


class Target(Record):
    """`members`: slots that must all be there."""

    name: str
    members: tuple[str, ...]
    atomic: bool = False


TARGETS: dict[str, Target] = {
    **{name: Target(name=name, members=(name,)) for name in SLOTS},
    "collective.moe_epilogue.v1": Target(
        name="collective.moe_epilogue.v1",
        members=("collective.ar_residual_rmsnorm", "collective.moe_finalize_ar_rmsnorm"),
        atomic=True,
    ),
}


def target(name: str, *, file: str = "", place: str = "target") -> Target:
    """The target of this name. Raises InputError where there is none."""
    found = TARGETS.get(name)
    if found is None:
        raise InputError(file=file, place=place, expected="a registered target", got=repr(name))
    return found
