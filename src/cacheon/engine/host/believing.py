"""Whether an outcome answers the request it came for, before anybody believes it.

The grader is trusted, its socket is within reach of more than it: what does not fit what
was asked for is not the grader's word, and counts as the loss of it."""

from collections.abc import Sequence

from cacheon.contract.case import Case
from cacheon.engine.outcome import CaseRow, OrderName, VariantOutcome
from cacheon.engine.request import RunSettings, VariantRequest
from cacheon.engine.verdict import Verdict, verdict_of


def disbelieved(
    outcome: VariantOutcome,
    request: VariantRequest,
    settings: RunSettings,
    orders: Sequence[OrderName],
) -> str:
    """What of an outcome does not fit its request, of which these orders were asked for;
    empty where everything does."""
    backend = "cuda" if settings.device == "cuda" else "rehearsal"
    asked = {
        "slot": request.slot,
        "variant": request.variant,
        "dtype": request.dtype,
        "backend": backend,
        "isolation": settings.isolation,
        "domain": request.domain,
        "entry": request.candidate.entry,
        "source": request.candidate.source,
    }
    for name, value in asked.items():
        if getattr(outcome, name) != value:
            return f"its {name} is {str(getattr(outcome, name))[:100]!r}, not {value!r}"
    if len(outcome.rows) != len(request.cases):
        return f"it has {len(outcome.rows)} rows, not {len(request.cases)}"
    for row, case in zip(outcome.rows, request.cases, strict=True):
        if wrong := _wrong_with(row, case, orders):
            return f"{case.label}: {wrong}"
    verdict = verdict_of(
        outcome.rows,
        device=settings.device,
        graph=request.graph,
        needs_cuda=outcome.rehearsal == "needs-cuda",
    )
    if Verdict(outcome.word, outcome.graph, outcome.rehearsal) != verdict:
        return f"its word is {outcome.word}, where its rows say {verdict.word}"
    return ""


def _wrong_with(row: CaseRow, case: Case, orders: Sequence[OrderName]) -> str:
    if (row.label, row.descriptor, row.origin) != (case.label, case.descriptor, case.origin):
        return "the row is another case's"
    if row.applicable != case.applicable or row.applicable == (row.status == "not_applicable"):
        return "the row is applicable where the case is not, or the other way round"
    walked = [result.order for result in row.orders]
    if len(set(walked)) != len(walked) or not set(walked) <= set(orders):
        return "an order was walked that was not asked for"
    if row.status == "ok" and (row.findings or set(walked) != set(orders)):
        return "the row is ok, with a finding or without an order"
    if row.status == "fail" and (not row.findings or row.failure in ("none", "not_applicable")):
        return "the row fails without a finding or a class"
    return ""
