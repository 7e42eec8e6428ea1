"""`observe`: exactly the required cases, seen once, written raw, delivered under one key."""

from pathlib import Path

import msgspec

from cacheon.contract.slots import SLOTS
from cacheon.engine.host.examination import Examination
from cacheon.engine.request import RunSettings
from cacheon.evidence.contracts import contract_digest
from cacheon.evidence.keys import Key
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.requiring import context_of
from cacheon.evidence.soundness import unsound
from cacheon.evidence.store import LIMITS, DirectoryStore
from cacheon.records.canonical import decode
from cacheon.records.errors import InputError
from cacheon.report.results import Observed
from cacheon.workflows.observing import Observing, public
from cacheon.workflows.opening import Opened, Unusable, opened
from cacheon.workflows.options import Options
from cacheon.workflows.reading import read_bytes
from cacheon.workflows.verify import Start, Watch, settings_for


def observe(
    requirement: Path,
    bundle: Path,
    store: Path,
    key: Path,
    options: Options,
    watch: Watch,
    *,
    start: Start = Examination,
) -> Observed:
    """Observe what a requirement asks of `bundle`, and deliver it into `store`.

    Of `options` only the deadlines count: what is run is the requirement's. Raises
    InputError where contract, bundle, machine or key is another than the requirement's,
    InfrastructureError where nothing could be started. May be killed anywhere: the next
    call goes on after the last variant that was seen to its end."""
    data = read_bytes(requirement, LIMITS.record_bytes)
    asked = decode(data, Requirement, limit=LIMITS.record_bytes, source=str(requirement))
    signer = Key.load(key)
    refuse(asked, signer, str(requirement))
    settings = settings_of(asked, options)
    every_row = Options(every_row=True, world_size=context_of(asked).world_size)
    with opened([bundle], every_row) as bundles:
        checked = usable(bundles[0], asked)
        settings = msgspec.structs.replace(settings, scratch=(str(bundles.directory),))
        with (
            DirectoryStore.open(store, create=True) as kept,
            start(settings, watch) as examiner,
        ):
            return Observing(asked, data, checked, kept, signer, examiner, settings).run()


def settings_of(asked: Requirement, options: Options) -> RunSettings:
    """How the requirement has its cases examined."""
    return settings_for(
        Options(
            device=asked.launch.device,
            replays=asked.replays,
            soak=asked.soak,
            isolation=asked.isolation,
            timeout=options.timeout,
            compile_timeout=options.compile_timeout,
        )
    )


def refuse(asked: Requirement, signer: Key, file: str) -> None:
    """Raises InputError for a requirement that nothing can be shown for here: it
    contradicts itself, pins other keys, or rests on other contracts than are installed."""
    contradictions = unsound(asked)
    if contradictions:
        raise InputError(file=file, expected="a sound requirement", got="; ".join(contradictions))
    if public(signer) not in {observer.key for observer in asked.observers}:
        raise InputError(
            file=file,
            place="observers",
            expected="a pinned key",
            got=f"{public(signer)} (pin it: cacheon require --observer NAME=KEY)",
        )
    for member in asked.members:
        slot = SLOTS.get(member.slot)
        if slot is None or contract_digest(slot) != member.contract:
            raise InputError(
                file=file,
                place=f"contract of {member.slot}",
                expected=member.contract,
                got="another: install the version that wrote the requirement",
            )
        if slot.kind == "collective":
            refuse_other_group(asked, member.slot, file)


def refuse_other_group(asked: Requirement, slot: str, file: str) -> None:
    """Raises InputError where a collective's ranks would not be one group of all of them,
    each in a process of its own."""
    context = context_of(asked)
    if context.world_size < 2 or context.tp_size != context.world_size:
        raise InputError(
            file=file,
            place=slot,
            expected="two ranks or more, in one group: tp_size the same as world_size",
            got=f"tp_size {context.tp_size} of world_size {context.world_size}",
        )
    if asked.isolation == "inline":
        raise InputError(
            file=file, place=slot, expected="isolation process: ranks have one each", got="inline"
        )


def usable(candidate: Opened | Unusable, asked: Requirement) -> Opened:
    """The bundle, if it is the one that the requirement binds. Raises InputError."""
    if isinstance(candidate, Unusable):
        # The line names its file already.
        raise InputError(expected="", got="", place=candidate.message)
    if candidate.bundle.digest != asked.bundle:
        raise InputError(
            file=str(candidate.path),
            expected=f"the bundle {asked.bundle}",
            got=candidate.bundle.digest,
        )
    return candidate
