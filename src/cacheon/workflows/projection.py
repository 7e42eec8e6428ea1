"""From a row of an examination to an observation: here engine and evidence meet."""

from cacheon.engine.outcome import CaseRow, Finding, OrderResult, VariantOutcome
from cacheon.engine.request import VariantRequest
from cacheon.evidence.case import case_digest, describe_case
from cacheon.evidence.observation import (
    OBSERVATION,
    Observation,
    ObservedFinding,
    OrderObservation,
    RankObservation,
)
from cacheon.records.errors import InfrastructureError, one_line
from cacheon.records.strict import Record

_MOST_FINDINGS = 16
"""Of one row; a candidate that breaks in more ways is broken in these."""


class Binding(Record):
    """The digests that every observation of one run carries."""

    requirement: str
    nonce: str
    run: str
    launch: str
    bundle: str


def project(
    binding: Binding, request: VariantRequest, outcome: VariantOutcome
) -> tuple[Observation, ...]:
    """One observation for each case of the request, in its order. Raises
    InfrastructureError where the examination answered for other cases than it was asked."""
    asked = [case.descriptor for case in request.cases]
    if asked != [row.descriptor for row in outcome.rows]:
        raise InfrastructureError("the examination answered for other cases than were asked")
    return tuple(
        _observation(binding, request, index, row, outcome)
        for index, row in enumerate(outcome.rows)
    )


def lost(
    binding: Binding, request: VariantRequest, backend: str, isolation: str, why: str
) -> tuple[Observation, ...]:
    """What is written where the examination itself was lost: every row incomplete."""
    outcome = VariantOutcome(
        slot=request.slot,
        variant=request.variant,
        dtype=request.dtype,
        backend=backend,
        isolation=isolation,
        word="NO_DECISION",
        graph="NOT_VERIFIED",
        rows=tuple(
            CaseRow(
                label=case.label,
                descriptor=case.descriptor,
                origin=case.origin,
                applicable=case.applicable,
                status="incomplete",
                infrastructure=why,
            )
            for case in request.cases
        ),
    )
    return project(binding, request, outcome)


def _observation(
    binding: Binding,
    request: VariantRequest,
    index: int,
    row: CaseRow,
    outcome: VariantOutcome,
) -> Observation:
    descriptor = describe_case(request.cases[index])
    complete = row.status != "incomplete"
    return Observation(
        schema=OBSERVATION,
        requirement=binding.requirement,
        nonce=binding.nonce,
        run=binding.run,
        launch=binding.launch,
        bundle=binding.bundle,
        case=case_digest(descriptor),
        descriptor=descriptor,
        applicable=row.applicable,
        graph_required=request.graph,
        ranks=_ranks(row, cut_off=not complete),
        failure=row.failure,
        stage=row.stage or "",
        complete=complete,
        infrastructure="" if complete else one_line(row.infrastructure or "no cause was given"),
        findings=tuple(_finding(each) for each in row.findings[:_MOST_FINDINGS]),
        probes=outcome.probes,
        compilers=outcome.compilers,
        nodes=row.nodes,
        max_abs=row.max_abs,
        max_relative=row.max_relative,
        backend="cuda" if outcome.backend == "cuda" else "rehearsal",
        isolation="process" if outcome.isolation == "process" else "inline",
    )


def _ranks(row: CaseRow, *, cut_off: bool) -> tuple[RankObservation, ...]:
    """What each rank saw; a process of its own is rank 0."""
    seen = [(each.rank, each.orders) for each in row.ranks] or [(0, row.orders)]
    return tuple(
        RankObservation(rank=rank, orders=tuple(_order(each, cut_off=cut_off) for each in orders))
        for rank, orders in seen
    )


def _order(seen: OrderResult, *, cut_off: bool) -> OrderObservation:
    """How far an order came. Where infrastructure cut the row off, an answer that was there
    and not compared yet is no wrong one."""
    return OrderObservation(
        order=seen.order,
        stages=seen.stages,
        replays_completed=seen.replays_passed if cut_off else seen.replays_completed,
        replays_passed=seen.replays_passed,
        soak_completed=seen.soak_passed if cut_off else seen.soak_completed,
        soak_passed=seen.soak_passed,
    )


def _finding(seen: Finding) -> ObservedFinding:
    """What a candidate had printed stands in a message: it is made one plain line."""
    place = seen.place
    return ObservedFinding(
        rule=seen.rule,
        stage=seen.stage,
        message=one_line(seen.message),
        file=one_line(place.file) if place else "",
        line=place.line if place else 0,
    )
