"""One observer's run: each required variant examined once, written raw, signed at the end."""

import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cacheon.bundle import Bundle, Variant
from cacheon.contract.coverage import work_of
from cacheon.contract.slots import slot as slot_of
from cacheon.engine.outcome import VariantOutcome
from cacheon.engine.request import Candidate, RunSettings, VariantRequest
from cacheon.evidence.delivery import DELIVERY, DELIVERY_TYPE, Delivery
from cacheon.evidence.envelope import seal
from cacheon.evidence.keys import PREFIX, Key
from cacheon.evidence.launch import Launch
from cacheon.evidence.observation import Observation
from cacheon.evidence.pointers import named
from cacheon.evidence.requirement import RequiredVariant, Requirement
from cacheon.evidence.requiring import context_of, rebuild, rebuild_larger
from cacheon.evidence.running import (
    RUN,
    RUNS,
    SEEN,
    SEEN_RECORD,
    SENT,
    Run,
    Seen,
    variant_name,
)
from cacheon.evidence.store import Store
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError, InputError
from cacheon.records.strict import Record
from cacheon.report.results import Observed
from cacheon.workflows.hostility import with_hostility
from cacheon.workflows.launch import described
from cacheon.workflows.opening import Opened, copied
from cacheon.workflows.projection import Binding, lost, project
from cacheon.workflows.selection import control_for
from cacheon.workflows.verify import Examiner


def public(key: Key) -> str:
    """The public key as records spell it."""
    return key.public.removeprefix(PREFIX)


class Observing:
    """One run, from where an earlier process left it."""

    def __init__(
        self,
        asked: Requirement,
        data: bytes,
        candidate: Opened,
        store: Store,
        signer: Key,
        examiner: Examiner,
        settings: RunSettings,
    ) -> None:
        self.asked, self.data, self.candidate = asked, data, candidate
        self.store, self.signer, self.examiner, self.settings = store, signer, examiner, settings
        self.digest = sha256(data)
        self.observer = public(signer)
        self.outcomes: list[VariantOutcome] = []
        self.resumed: list[str] = []

    def run(self) -> Observed:
        """1. The machine is the required one. 2. The run is begun, or gone on with. 3. Each
        variant that was not seen yet is examined and written. 4. All of it is signed."""
        # 1.
        refuse_other_machine(self.asked.launch, described(self.examiner.facts()))
        # 2.
        run = self._begin()
        delivered = self.store.pointer(SENT, named(self.digest, self.observer))
        binding = Binding(
            requirement=self.digest,
            nonce=self.asked.nonce,
            run=run,
            launch=sha256(encode(self.asked.launch)),
            bundle=self.asked.bundle,
        )
        # 3.
        self.snapshot = copied(self.candidate)
        seen: list[str] = []
        for variant in self.asked.variants:
            seen += self._seen(binding, variant)
        observations = tuple(sorted(set(seen)))
        # 4.
        if delivered is None:
            delivered = self._deliver(binding, observations)
        return Observed(
            requirement=self.digest,
            run=run,
            observer=self.observer,
            delivery=delivered,
            observations=observations,
            resumed=tuple(self.resumed),
            outcomes=tuple(self.outcomes),
        )

    def _begin(self) -> str:
        """The run that this key began for the requirement; its name."""
        name = named(self.digest, self.observer)
        there = self.store.pointer(RUNS, name)
        if there is not None:
            return decode(self.store.get(there), Run).run
        self.store.put(self.data)
        begun = Run(
            schema=RUN,
            requirement=self.digest,
            observer=self.observer,
            run=secrets.token_hex(32),
        )
        self.store.link(RUNS, name, self.store.put(encode(begun)))
        return begun.run

    def _seen(self, binding: Binding, variant: RequiredVariant) -> Sequence[str]:
        name = named(binding.run, variant_name(variant.slot, variant.variant))
        there = self.store.pointer(SEEN, name)
        if there is not None:
            self.resumed.append(f"{variant.slot} variant={variant.variant}")
            return decode(self.store.get(there), Seen).observations
        rows = self._examine(binding, variant)
        digests = tuple(self.store.put(encode(row)) for row in rows)
        record = Seen(
            schema=SEEN_RECORD,
            run=binding.run,
            slot=variant.slot,
            variant=variant.variant,
            observations=digests,
        )
        self.store.link(SEEN, name, self.store.put(encode(record)))
        return digests

    def _examine(self, binding: Binding, variant: RequiredVariant) -> tuple[Observation, ...]:
        """Every required case of a variant, under a seed that nobody knew before; what the scan
        found in the source before it was loaded counts, too."""
        row = row_of(self.candidate.bundle, variant)
        request = request_of(self.asked, variant, row, self.snapshot)
        self.examiner.reseed(msgspec.structs.replace(self.settings, seed=secrets.randbits(48)))
        try:
            outcome = self.examiner.examine(request)
        except InfrastructureError as error:
            backend = "cuda" if self.settings.device == "cuda" else "rehearsal"
            return lost(binding, request, backend, self.settings.isolation, error.message)
        outcome = with_hostility(
            outcome,
            self.candidate.scanned,
            device=self.settings.device,
            graph=self.asked.graph_required,
        )
        self.outcomes.append(outcome)
        return project(binding, request, outcome)

    def _deliver(self, binding: Binding, observations: tuple[str, ...]) -> str:
        body = Delivery(
            schema=DELIVERY,
            requirement=binding.requirement,
            nonce=binding.nonce,
            run=binding.run,
            launch=binding.launch,
            observer=self.observer,
            observations=observations,
        )
        digest = self.store.put(seal(encode(body), DELIVERY_TYPE, [self.signer]))
        self.store.link(SENT, named(self.digest, self.observer), digest)
        return digest


def refuse_other_machine(required: Launch, here: Launch) -> None:
    """Raises InputError, naming the first field in which this machine differs."""
    for field in required.__struct_fields__:
        wanted, found = getattr(required, field), getattr(here, field)
        if wanted != found:
            raise InputError(
                place=f"launch, {field}",
                expected=f"{_shown(wanted)} as the requirement says",
                got=_shown(found),
            )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_shown(each) for each in value)
    if isinstance(value, Record):
        return " ".join(str(getattr(value, name)) for name in value.__struct_fields__)
    return repr(value)


def row_of(bundle: Bundle, variant: RequiredVariant) -> Variant:
    """The manifest's row of a required variant. Raises InputError where there is none, or
    where it names other code: then the requirement was not written for this manifest."""
    wanted = (variant.slot, variant.variant, variant.source, variant.entry, variant.prepare)
    for row in bundle.variants:
        names = (row.slot, row.name, row.source, row.entry, row.prepare)
        if names == wanted:
            return row
    raise InputError(
        file=bundle.path,
        place=f"{variant.slot} variant={variant.variant}",
        expected=f"{variant.source}:{variant.entry}",
        got="no such row",
    )


def request_of(
    asked: Requirement, variant: RequiredVariant, row: Variant, snapshot: Path
) -> VariantRequest:
    """What the engine examines for a required variant: its cases and no others, built
    again from the requirement. Raises InputError."""
    cases = [rebuild(required, row, asked) for required in variant.cases]
    # The examination takes the largest first whatever the order is; this one can be read.
    cases.sort(key=lambda case: (-work_of(case), case.label))
    return VariantRequest(
        slot=variant.slot,
        variant=variant.variant,
        dtype=str(asked.context["dtype"]),
        candidate=Candidate(
            root=str(snapshot),
            source=variant.source,
            entry=variant.entry,
            prepare=variant.prepare,
        ),
        control=control_for(variant.slot),
        cases=tuple(cases),
        larger=rebuild_larger(variant, row, asked),
        graph=asked.graph_required,
        domain="full" if variant.covered else "partial",
        ranks=context_of(asked).world_size if slot_of(variant.slot).kind == "collective" else 1,
    )
