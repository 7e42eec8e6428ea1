"""Which rows of a bundle are examined, with which dtype, in which context."""

from collections.abc import Mapping
from pathlib import Path

from cacheon.bundle import Bundle, Variant, open_bundle
from cacheon.contract.case import Case
from cacheon.contract.coverage import WORK_BUDGET, cases_for, larger, work_of
from cacheon.contract.descriptor import GIVEN_FIELDS, NUMBER_FIELDS, Context, text_value
from cacheon.contract.slots import slot as slot_of
from cacheon.contract.targets import target
from cacheon.engine.request import Candidate, DeviceFacts, VariantRequest
from cacheon.records.errors import InputError
from cacheon.workflows.examples import good_example
from cacheon.workflows.options import Options

_PREFERRED = {
    "cuda": ("bfloat16", "float16", "float32"),
    "cpu": ("float32", "bfloat16", "float16"),
}
_CPU_BUDGET = 256 << 20
"""Bytes of one call on a CPU, unless the whole catalogue is asked for."""


def select(bundle: Bundle, options: Options) -> tuple[list[Variant], list[str]]:
    """Rows to examine, and a line for each that is not. Raises InputError where none is
    left."""
    members = target(bundle.target).members if bundle.target and not options.every_row else None
    chosen: list[Variant] = []
    left: list[str] = []
    for variant in bundle.variants:
        name = f"{variant.slot} variant={variant.name}"
        if members is not None and variant.slot not in members:
            left.append(f"{name}: not a member of {bundle.target}")
        elif options.variants and variant.name not in options.variants:
            left.append(f"{name}: not named by --variant")
        elif slot_of(variant.slot).kind == "collective" and options.world_size == 1:
            left.append(f"{name}: a collective needs ranks: add --world-size 2, or more")
        else:
            chosen.append(variant)
    if not chosen:
        named = any(variant.name in options.variants for variant in bundle.variants)
        if options.variants and not named:
            known = ", ".join(sorted({variant.name for variant in bundle.variants}))
            raise InputError(
                file=bundle.path,
                place="--variant",
                expected=f"one of {known}",
                got=", ".join(map(repr, options.variants)),
            )
        raise InputError(file=bundle.path, expected="a row to examine", got="; ".join(left))
    return chosen, left


def dtype_for(variant: Variant, options: Options, device: str) -> str:
    """The dtype that was asked for, else the first that the row declares."""
    if options.dtype:
        return options.dtype
    declared = variant.dtypes or _PREFERRED[device]
    return next(dtype for dtype in _PREFERRED[device] if dtype in declared)


def given_context(pairs: Mapping[str, str]) -> dict[str, str | int]:
    """`--context` pairs, checked. Raises InputError."""
    given: dict[str, str | int] = {}
    for key, value in pairs.items():
        if key not in GIVEN_FIELDS:
            known = ", ".join(GIVEN_FIELDS)
            raise InputError(place=f"--context {key}", expected=f"one of {known}", got=repr(key))
        if key in NUMBER_FIELDS:
            if not value.isdigit():
                raise InputError(place=f"--context {key}", expected="a number", got=repr(value))
            given[key] = int(value)
        else:
            given[key] = text_value(key, value)
    return given


def request_for(
    variant: Variant, snapshot: Path, options: Options, facts: DeviceFacts, seed: int
) -> VariantRequest:
    """Everything the engine needs to examine one row; no cases where `--case` names none
    of this row's. Raises InputError."""
    slot = slot_of(variant.slot)
    on_cpu = facts.device == "cpu"
    ranks = options.world_size if slot.kind == "collective" else 1
    refuse_lacking_devices(ranks, facts)
    notes = []
    graph = slot.kind == "op" or variant.graph_safe is True or options.require_graph
    if variant.graph_safe is not True:
        said = "unset" if variant.graph_safe is None else "false"
        notes.append(
            f"graph_safe is {said}: an arena that requires graphs will not route this variant"
        )
    architecture = facts.architecture
    if on_cpu:
        architecture = variant.architectures[0] if variant.architectures else "sm90"
        notes.append(f"architecture {architecture} is assumed: this is a CPU")
    context = Context(
        dtype=dtype_for(variant, options, facts.device),
        architecture=architecture,
        graph_mode="cuda_graph" if graph else "eager",
        tp_size=ranks,
        world_size=ranks,
        given=given_context(options.context),
    )
    small = on_cpu and not options.full
    coverage = cases_for(
        slot,
        variant.name,
        variant.domain,
        context,
        seed=seed,
        work_budget=_CPU_BUDGET if small else WORK_BUDGET,
        small=small,
    )
    cases = _named(coverage.cases, options.cases)
    applicable = [case for case in cases if case.applicable]
    bigger = None
    if cases and not applicable:
        why = variant.domain.mismatch(cases[0].descriptor)
        notes.append(f"no case applies: {why}; `cacheon explain CG805`")
    if applicable:
        bigger = larger(
            max(applicable, key=work_of),
            slot,
            variant.domain,
            context,
            work_budget=_CPU_BUDGET if small else WORK_BUDGET,
        )
    return VariantRequest(
        slot=slot.name,
        variant=variant.name,
        dtype=context.dtype,
        candidate=Candidate(
            root=str(snapshot),
            source=variant.source,
            entry=variant.entry,
            prepare=variant.prepare,
        ),
        control=control_for(slot.name),
        cases=cases,
        larger=bigger,
        graph=graph,
        domain="full" if coverage.full else "partial",
        notes=(*notes, *coverage.missing),
        ranks=ranks,
    )


def refuse_lacking_devices(ranks: int, facts: DeviceFacts) -> None:
    """Raises InputError where there are fewer GPUs than ranks, or they are not alike."""
    if ranks == 1 or facts.device == "cpu":
        return
    names = [f"{d.name} ({d.architecture}, {d.memory} MiB)" for d in facts.devices]
    if len(names) < ranks:
        raise InputError(
            place="--world-size", expected=f"at most {len(names)}, one GPU a rank", got=str(ranks)
        )
    other = next((name for name in names[:ranks] if name != names[0]), "")
    if other:
        raise InputError(
            place="--world-size",
            expected="GPUs that are alike (CUDA_VISIBLE_DEVICES selects some)",
            got=f"{names[0]} beside {other}",
        )


def _named(cases: tuple[Case, ...], wanted: tuple[str, ...]) -> tuple[Case, ...]:
    if not wanted:
        return cases
    return tuple(case for case in cases if any(text in case.label for text in wanted))


def control_for(slot: str) -> Candidate | None:
    """The slot's plain torch example, shipped with the package."""
    root = good_example(slot)
    if root is None:
        return None
    row = open_bundle(root).variants[0]
    return Candidate(root=str(root), source=row.source, entry=row.entry, prepare=row.prepare)
