"""Whether a bundle, an arena, a launch and the observers go together at all."""

from collections.abc import Sequence

from cacheon.bundle import Bundle
from cacheon.contract.arenas import Arena
from cacheon.evidence.launch import Launch
from cacheon.evidence.requirement import Observer
from cacheon.records.errors import InputError


def refuse_other_target(bundle: Bundle, arena: Arena, target: str) -> None:
    """Raises InputError where the arena does not hold the target, or the bundle competes
    for another."""
    if target not in arena.targets:
        known = ", ".join(arena.targets)
        raise InputError(
            place=f"arena {arena.name}", expected=f"a target of this arena: {known}", got=target
        )
    if bundle.target not in ("", target):
        raise InputError(
            file=bundle.path,
            place="competition.target",
            expected=f"{target}, or no competition",
            got=bundle.target,
        )
    quant = arena.context.given.get("quant")
    if quant in arena.bounds:
        # Written down and not applied would be worse than refused: a variant that keeps to
        # the published bound would fail by the slot's own.
        raise InputError(
            place=f"arena {arena.name}, bounds.{quant}",
            expected="no bounds for the arena's own quant: examinations apply the slot's numbers",
            got="some",
        )


def refuse_other_launch(arena: Arena, launch: Launch) -> None:
    """Raises InputError where a machine cannot be the arena's: another device, too few of
    them, some that differ, another architecture."""
    context = arena.context
    if launch.device != arena.device:
        raise InputError(place="launch", expected=f"device {arena.device}", got=launch.device)
    # On a CPU any number of ranks share it.
    if arena.device == "cuda" and len(launch.devices) < context.world_size:
        raise InputError(
            place="launch",
            expected=f"{context.world_size} or more devices",
            got=str(len(launch.devices)),
        )
    for device in launch.devices:
        if device != launch.devices[0]:
            raise InputError(
                place="launch",
                expected="devices that are alike",
                got=f"{launch.devices[0].name} beside {device.name}",
            )
        if arena.device == "cuda" and device.architecture != context.architecture:
            raise InputError(
                place="launch",
                expected=f"architecture {context.architecture}",
                got=f"{device.architecture} ({device.name})",
            )


def pinned_keys(arena: Arena, more: Sequence[Observer]) -> tuple[Observer, ...]:
    """The arena's keys and `more`. Raises InputError for one key twice, and where they are
    fewer than must agree."""
    observers = [Observer(key=pinned.key, name=pinned.name) for pinned in arena.observers]
    for observer in more:
        if any(observer.key == known.key for known in observers):
            raise InputError(
                place=f"observer {observer.name}", expected="a key that is not pinned yet", got="it"
            )
        observers.append(observer)
    if len(observers) < arena.quorum:
        raise InputError(
            place="observers",
            expected=f"{arena.quorum} or more pinned keys",
            got=str(len(observers)),
        )
    return tuple(observers)
