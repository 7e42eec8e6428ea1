"""From an arena and a bundle to a requirement, on paper, before anything runs.

The manifest, the catalogue and the arena decide; no observer is asked (source: the
specification, «Declaration is not proof»). Which cases there are depends on the nonce, so
that nobody knows them before the requirement is written.
"""

from collections.abc import Mapping, Sequence

import msgspec

from cacheon.bundle import Bundle, Variant
from cacheon.contract.arenas import Arena, Published
from cacheon.contract.building import (
    Origin,
    base_of,
    build_case,
    choices_of,
    valid,
    work_of,
)
from cacheon.contract.case import Case
from cacheon.contract.coverage import cases_for, larger
from cacheon.contract.descriptor import GIVEN_FIELDS, Context
from cacheon.contract.slots import SLOTS
from cacheon.contract.targets import target as target_of
from cacheon.evidence.case import case_digest, describe_case
from cacheon.evidence.contracts import contract_digest
from cacheon.evidence.fitting import pinned_keys, refuse_other_launch, refuse_other_target
from cacheon.evidence.grade import Reason
from cacheon.evidence.launch import Launch
from cacheon.evidence.requirement import (
    REQUIREMENT,
    Member,
    Observer,
    Policy,
    RequiredCase,
    RequiredVariant,
    Requirement,
)
from cacheon.evidence.store.limits import LIMITS
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError, LimitExceeded, one_line

_MIB = 1 << 20


def require(
    bundle: Bundle,
    published: Published,
    launch: Launch,
    target: str,
    nonce: str,
    observers: Sequence[Observer] = (),
) -> Requirement:
    """Everything that a PASS of `bundle` for `target` needs.

    `nonce`: 32 random bytes in hexadecimal, used once. `observers` are pinned beside the
    arena's own. Raises InputError where bundle, arena, launch and target do not go together,
    and where no quorum can be had. What goes together and still can only fail is written all
    the same: `foreseen` says why."""
    arena = published.arena
    members = target_of(target).members
    refuse_other_target(bundle, arena, target)
    refuse_other_launch(arena, launch)
    pinned = pinned_keys(arena, observers)
    rows = [row for row in bundle.variants if row.slot in members]
    if not rows:
        raise InputError(file=bundle.path, expected=f"a row for {members[0]}", got="none")
    requirement = Requirement(
        schema=REQUIREMENT,
        target=target,
        members=tuple(Member(slot=m, contract=contract_digest(SLOTS[m])) for m in members),
        bundle=bundle.digest,
        variants=tuple(_variant(row, arena, nonce) for row in rows),
        context=context_fields(arena),
        launch=launch,
        compilation=arena.compilation,
        graph_required=arena.graph_required,
        replays=arena.replays,
        soak=arena.soak,
        probes=arena.probes,
        isolation=arena.isolation,
        observers=pinned,
        quorum=arena.quorum,
        policy=Policy(arena=arena.name, version=arena.version, digest=published.digest),
        nonce=nonce,
    )
    size = len(encode(requirement))
    if size > LIMITS.record_bytes:
        raise LimitExceeded(
            file=bundle.path,
            expected=f"a requirement of at most {LIMITS.record_bytes} bytes",
            got=f"{size}: {len(rows)} rows list too many values",
        )
    return requirement


def context_fields(arena: Arena) -> dict[str, str | int]:
    """The fields that an arena fixes for every call, as a requirement spells them."""
    context = arena.context
    return {
        "dtype": context.dtype,
        "architecture": context.architecture,
        "graph_mode": context.graph_mode,
        "tp_size": context.tp_size,
        "world_size": context.world_size,
        **context.given,
    }


def context_of(requirement: Requirement) -> Context:
    """The context of every call of a requirement. Raises InputError where it lacks a field,
    or has one of another type."""
    fields = requirement.context
    body = {name: value for name, value in fields.items() if name not in GIVEN_FIELDS}
    given = {name: value for name, value in fields.items() if name in GIVEN_FIELDS}
    try:
        return msgspec.convert({**body, "given": given}, Context)
    except msgspec.ValidationError as error:
        raise InputError(
            place="requirement, context", expected="the fields of a context", got=str(error)
        ) from error


def foreseen(requirement: Requirement) -> tuple[Reason, ...]:
    """What can only fail, whatever is observed: a variant that applies and whose domain is
    not covered, a member without any applicable case. Empty where a PASS is possible."""
    reasons = [
        Reason(
            code="domain-not-covered",
            slot=variant.slot,
            variant=variant.variant,
            detail=one_line("; ".join(variant.missing)),
        )
        for variant in requirement.variants
        if not variant.covered and _applies(variant)
    ]
    for member in requirement.members:
        rows = [row for row in requirement.variants if row.slot == member.slot]
        if not any(_applies(row) for row in rows):
            why = "; ".join(_why_not(row, requirement.graph_required) for row in rows)
            detail = one_line(why or "the bundle has no row for it")
            reasons.append(Reason(code="no-applicable-case", slot=member.slot, detail=detail))
    return tuple(reasons)


def rebuild(required: RequiredCase, row: Variant, requirement: Requirement) -> Case:
    """The concrete case that a requirement names, for whoever examines the manifest's `row`.

    Its applicability is what `row` says here, not what the requirement says: the two must
    agree, and an observer reports what it finds. Raises InputError where another call comes
    out than the one that was required: another contract, another context, or a requirement
    that contradicts itself."""
    case = _built(row, required.dims, required.choices, required.origin, requirement)
    if case is None or case_digest(describe_case(case)) != required.case:
        raise InputError(
            place=f"case {required.case[:12]} of {row.slot}",
            expected="the required call, built again",
            got="another: the installed contract differs from the requirement's",
        )
    takes_part = routed(row.graph_safe, requirement.graph_required)
    return msgspec.structs.replace(case, applicable=case.applicable and takes_part)


def rebuild_larger(variant: RequiredVariant, row: Variant, requirement: Requirement) -> Case | None:
    """The larger call of a variant's perturbation; None where none of its cases applies.
    Raises InputError where its dimensions are no call of the slot."""
    applicable = [case for case in variant.cases if case.applicable]
    if not applicable or not variant.larger:
        return None
    choices = max(applicable, key=lambda each: each.work).choices
    case = _built(row, variant.larger, choices, "larger", requirement)
    if case is None:
        raise InputError(
            place=f"variant {row.name} of {row.slot}, larger",
            expected="the dimensions of a call",
            got="others",
        )
    return case


def _built(
    row: Variant,
    dims: Mapping[str, int],
    choices: Mapping[str, bool],
    origin: Origin,
    requirement: Requirement,
) -> Case | None:
    """A call of the row's slot; None where no call can have these dimensions."""
    slot = SLOTS[row.slot]
    published = slot.catalogue[0]
    if dims.keys() != published.dims.keys() or choices.keys() != published.choices.keys():
        return None
    if not valid(slot, dims):
        return None
    return build_case(slot, row.name, dims, choices, context_of(requirement), row.domain, origin)


def _applies(variant: RequiredVariant) -> bool:
    return any(case.applicable for case in variant.cases)


def _why_not(variant: RequiredVariant, graph_required: bool) -> str:
    name = f"variant {variant.variant}"
    if graph_required and variant.graph_safe != "true":
        return f"{name}: graph_safe is {variant.graph_safe}, and the arena requires graphs"
    if variant.missing:
        return f"{name}: {'; '.join(variant.missing)}"
    return f"{name}: its domain admits no call of this arena"


def seed_of(nonce: str) -> int:
    """The seed, 48 bits, from which a requirement's cases are drawn."""
    return int(sha256(f"cacheon/cases/1 {nonce}".encode())[:12], 16)


def routed(graph_safe: bool | None, graph_required: bool) -> bool:
    """Whether a variant takes part at all: an arena that requires graphs routes only what
    declares that it is safe in one."""
    return graph_safe is True or not graph_required


def _variant(row: Variant, arena: Arena, nonce: str) -> RequiredVariant:
    slot = SLOTS[row.slot]
    coverage = cases_for(
        slot,
        row.name,
        row.domain,
        arena.context,
        seed=seed_of(nonce),
        limits=arena.limits,
        work_budget=arena.work_budget,
        small=arena.device == "cpu",
    )
    missing = [*coverage.missing, *_beyond(coverage.cases, arena.work_budget)]
    takes_part = routed(row.graph_safe, arena.graph_required)
    cases = [
        msgspec.structs.replace(case, applicable=case.applicable and takes_part)
        for case in coverage.cases
    ]
    applicable = [case for case in cases if case.applicable]
    bigger: dict[str, int] = {}
    if applicable:
        most = max(applicable, key=work_of)
        grown = larger(
            most,
            slot,
            row.domain,
            arena.context,
            limits=arena.limits,
            work_budget=arena.work_budget,
        )
        bigger = base_of(slot, grown)
    return RequiredVariant(
        slot=row.slot,
        variant=row.name,
        source=row.source,
        entry=row.entry,
        prepare=row.prepare,
        graph_safe="unset" if row.graph_safe is None else "true" if row.graph_safe else "false",
        covered=not missing,
        missing=tuple(one_line(text) for text in missing),
        cases=tuple(_required(case) for case in cases),
        larger=bigger,
    )


def _beyond(cases: Sequence[Case], budget: int) -> list[str]:
    """Catalogue calls that the budget cannot pay for: the ends of a domain never are."""
    return [
        f"{case.label}: a call of {work_of(case) / _MIB:.0f} MiB is more than the work budget "
        f"of {budget / _MIB:.0f} MiB"
        for case in cases
        if case.applicable and work_of(case) > budget
    ]


def _required(case: Case) -> RequiredCase:
    descriptor = describe_case(case)
    slot = SLOTS[case.slot]
    return RequiredCase(
        case=case_digest(descriptor),
        descriptor=descriptor,
        dims=base_of(slot, case),
        choices=choices_of(slot, case),
        origin="boundary" if case.origin == "boundary" else "catalogue",
        applicable=case.applicable,
        work=work_of(case),
    )
