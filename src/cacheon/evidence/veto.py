"""The veto: from bound rows to PASS, FAIL or NO_DECISION, and every reason.

What is bound has been sorted by `evidence.binding`; what was set aside does not come here,
so that it cannot change anything.
"""

from typing import Final, Literal, NamedTuple

from cacheon.evidence.binding import Bound, Delivered
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import Decision, Reason
from cacheon.evidence.reasons import RANK, REASONS
from cacheon.evidence.requirement import RequiredCase, Requirement
from cacheon.evidence.rows import asked_of, failures, gaps
from cacheon.evidence.soundness import unsound
from cacheon.records.canonical import respell
from cacheon.records.errors import one_line

_Shown = Literal["failed", "open", "passed"]
MOST_SAID: Final = 5 << 20
"""Bytes of all reasons together: with the digests that it rests on a grade is one record."""


class Verdict(NamedTuple):
    """A decision and every reason for it; the first one leads."""

    decision: Decision
    reasons: tuple[Reason, ...]


def decide(requirement: Requirement, bound: Bound) -> Verdict:
    """Regrade a requirement from its bound rows, in the order of the design.

    1. **FAIL** where
       a. any bound row shows applicability other than required,
       b. or an applicable case that failed, at whatever stage and whatever else it says,
       c. or two bound rows of one case contradict each other,
       d. or the requirement itself says that a variant which applies does not have its
          domain covered,
       e. or that a member has no applicable case.
    2. **NO_DECISION** where
       a. the requirement contradicts itself,
       b. there is no evidence,
       c. members, variants or cases are missing from a delivery,
       d. or a delivery, or an observation that one lists, cannot be reopened,
       e. an observation is incomplete, or a replay count is not the required one,
       f. a key has delivered more than once,
       g. fewer observers agree than asked.
    3. **PASS** else. By 1e every member has an applicable case, by 2c every delivery has a row
       of it, by 1b and 2e that row passed and is complete, by 2b there is a delivery.

    Every reason that holds is given, as far as a grade has room for them: those of the
    decision's own kind first, gravest first. The answer does not depend on the order of anything.

    The caller owes what `binding.bind` lists, and beside it: that all deliveries known for the
    requirement were offered, that the requirement is one that the authority published, and
    that its policy is not older than the one in force. A declaration (`graph_safe`) is read
    here by nobody but `soundness`, which never lets it help."""
    asked = asked_of(requirement)
    cases = {case.case: case for variant in requirement.variants for case in variant.cases}
    evidence = any(delivered.rows for delivered in bound.deliveries)
    twice = _delivered_twice(bound)
    reasons: list[Reason] = []
    shown: dict[str, list[_Shown]] = {name: [] for name in cases}
    agreeing: set[str] = set()
    for delivered in bound.deliveries:
        open_ = _unread(delivered)  # 2d
        if evidence:
            open_ += missing(requirement, delivered)  # 2c
        for row in delivered.rows:
            seen, case = row.observation, cases[row.observation.case]
            against, left = failures(case, seen, asked), gaps(case, seen, asked)
            reasons += [_about(case, delivered, *said) for said in against]  # 1a, 1b
            open_ += [_about(case, delivered, *said) for said in left]  # 2e
            shown[case.case].append("failed" if against else "open" if left else "passed")
        reasons += open_
        if not open_ and delivered.delivery.observer not in twice:
            # Whoever hands in another's run has seen nothing: runs are counted, not keys.
            agreeing.add(delivered.delivery.run)
    reasons += [_contradiction(cases[name], shown[name]) for name in cases if _split(shown[name])]
    reasons += _uncovered(requirement)  # 1d
    reasons += _without_case(requirement)  # 1e
    reasons += [Reason(code="requirement-unsound", detail=text) for text in unsound(requirement)]
    if not evidence:
        reasons.append(Reason(code="no-evidence"))  # 2b
    elif len(agreeing) < requirement.quorum:  # 2g
        said = f"{len(agreeing)} of {requirement.quorum}"
        reasons.append(Reason(code="quorum", detail=said))
    reasons += [Reason(code="delivered-twice", observer=key) for key in twice]  # 2f
    reasons += [
        Reason(code="delivery-missing", observer=lost.observer, detail=lost.digest)  # 2d
        for lost in bound.lost
    ]
    return _verdict(reasons, cases)


def _verdict(reasons: list[Reason], cases: dict[str, RequiredCase]) -> Verdict:
    """Gravest first, then as the requirement lists its cases, then by observer."""
    if not reasons:
        return Verdict("PASS", (Reason(code="every-case-shown"),))  # 3
    place = {name: number for number, name in enumerate(["", *cases])}
    ordered = sorted(
        reasons,
        key=lambda each: (
            RANK[each.code],
            place[each.case],
            each.slot,
            each.variant,
            each.observer,
            each.detail,
        ),
    )
    failed = REASONS[ordered[0].code].leads == "FAIL"
    return Verdict("FAIL" if failed else "NO_DECISION", _fitting(ordered))


def _fitting(ordered: list[Reason]) -> tuple[Reason, ...]:
    """The first of them, as many as a grade has room for: an observer whose every row leaves
    everything open must not keep a failure from being published."""
    left = MOST_SAID
    for count, each in enumerate(ordered):
        left -= len(respell(each)) + len(",")
        if left < 0:
            return tuple(ordered[:count])
    return tuple(ordered)


def _about(case: RequiredCase, delivered: Delivered, code: str, detail: str) -> Reason:
    return Reason(
        code=code,
        slot=case.descriptor.slot,
        variant=case.descriptor.variant,
        case=case.case,
        observer=delivered.delivery.observer,
        detail=detail,
    )


def _split(shown: list[_Shown]) -> bool:
    return "failed" in shown and "passed" in shown


def _contradiction(case: RequiredCase, shown: list[_Shown]) -> Reason:
    return Reason(
        code="contradiction",
        slot=case.descriptor.slot,
        variant=case.descriptor.variant,
        case=case.case,
        detail=f"{shown.count('failed')} of {len(shown)} rows failed",
    )


def _uncovered(requirement: Requirement) -> list[Reason]:
    return [
        Reason(
            code="domain-not-covered",
            slot=variant.slot,
            variant=variant.variant,
            detail=one_line("; ".join(variant.missing)),
        )
        for variant in requirement.variants
        if not variant.covered and any(case.applicable for case in variant.cases)
    ]


def _without_case(requirement: Requirement) -> list[Reason]:
    served = {
        variant.slot
        for variant in requirement.variants
        if any(case.applicable for case in variant.cases)
    }
    slots = sorted({member.slot for member in requirement.members} - served)
    return [Reason(code="no-applicable-case", slot=slot) for slot in slots]


def missing(requirement: Requirement, delivered: Delivered) -> list[Reason]:
    """What the delivery shows nothing of, named at the largest of member, variant, case."""
    seen = {row.observation.case for row in delivered.rows}
    served = {
        variant.slot
        for variant in requirement.variants
        if any(case.case in seen for case in variant.cases)
    }
    reasons: dict[tuple[str, str, str], Reason] = {}
    for variant in requirement.variants:
        absent = [case.case for case in variant.cases if case.case not in seen]
        if not absent:
            continue
        slot, name = variant.slot, variant.variant
        if slot not in served:
            lost = [("member-missing", "", "")]
        elif len(absent) == len(variant.cases):
            lost = [("variant-missing", name, "")]
        else:
            lost = [("case-missing", name, case) for case in absent]
        for code, of, case in lost:
            reasons[slot, of, case] = Reason(
                code=code, slot=slot, variant=of, case=case, observer=delivered.delivery.observer
            )
    return list(reasons.values())


def _unread(delivered: Delivered) -> list[Reason]:
    return [
        Reason(code="observation-missing", observer=delivered.delivery.observer, detail=digest)
        for digest in delivered.missing
    ]


def _delivered_twice(bound: Bound) -> list[str]:
    """Keys that signed different deliveries. One delivery in two envelopes is one."""
    said: dict[str, Delivery] = {}
    return sorted(
        {
            delivered.delivery.observer
            for delivered in bound.deliveries
            if said.setdefault(delivered.delivery.observer, delivered.delivery)
            != delivered.delivery
        }
    )
