"""Grades in words: the decision, every reason, and what to do about each."""

from collections.abc import Iterator, Mapping, Sequence

from cacheon.evidence.grade import Grade, Reason
from cacheon.evidence.reasons import REASONS, ReasonCode
from cacheon.records.errors import one_line
from cacheon.report.line import Line

STYLES = {"PASS": "bold green", "FAIL": "bold red", "NO_DECISION": "bold magenta"}


def reason_lines(grade: Grade, calls: Mapping[str, str] = {}) -> Iterator[Line]:
    """Every reason, the leading one first; what to do stands once for each code. Then what
    was set aside, and why. `calls`: a case's call in words, by its digest, where known."""
    said: set[str] = set()
    for reason in grade.reasons:
        yield [("", f"  {_about(reason)}"), ("dim", _detail(reason.detail))]
        if reason.case in calls:
            yield [("dim", f"       {one_line(calls[reason.case], 300)}")]
        if reason.code not in said and reason.code in REASONS:
            said.add(reason.code)
            yield [("dim", f"       {REASONS[reason.code].title}")]
            yield [("dim", f"       {REASONS[reason.code].remedy}")]
    for aside in grade.set_aside:
        yield [
            ("yellow", f"  set aside {aside.what[:12]}: {aside.code}"),
            ("dim", _detail(aside.detail)),
        ]
        if aside.code not in said and aside.code in REASONS:
            said.add(aside.code)
            yield [("dim", f"       {REASONS[aside.code].title}")]
            yield [("dim", f"       {REASONS[aside.code].remedy}")]


def grade_lines(grade: Grade, digest: str, target: str, calls: Mapping[str, str]) -> Iterator[Line]:
    """A published grade: the decision, every reason, and what it rests on."""
    policy = grade.policy
    under = f" {target} under {policy.arena} version {policy.version}" if policy else ""
    yield [(STYLES[grade.decision], f"[{grade.decision}]"), ("", one_line(under))]
    yield from reason_lines(grade, calls)
    rests_on = f"deliveries={len(grade.deliveries)} observations={len(grade.observations)}"
    yield [("dim", f"  {rests_on}")]
    yield [("dim", f"  requirement {grade.requirement}")]
    yield [("dim", f"  grade       {digest}")]


def remedies(grade: Grade) -> dict[str, ReasonCode]:
    """What each code of a grade means and what to do about it."""
    codes = {each.code for each in grade.reasons} | {each.code for each in grade.set_aside}
    return {code: REASONS[code] for code in sorted(codes) if code in REASONS}


def taken_lines(
    requirement: str,
    delivery: str,
    observer: str,
    observations: int,
    again: bool,
    absent: Sequence[Reason],
) -> Iterator[Line]:
    """A delivery that counts from now on, and what it shows nothing of."""
    word = "taken in before" if again else "taken in"
    yield [("bold", f"{word} {delivery}")]
    yield [("", f"  observer {observer[:12]}… observations={observations}")]
    yield [("dim", f"  requirement {requirement}")]
    for reason in absent:
        yield [("yellow", f"  {_about(reason)}")]


def _detail(text: str) -> str:
    return f"  {one_line(text)}" if text else ""


def _about(reason: Reason) -> str:
    parts = [reason.code]
    if reason.slot:
        parts.append(f"{reason.slot} variant={reason.variant}" if reason.variant else reason.slot)
    if reason.case:
        parts.append(f"case={reason.case[:12]}")
    if reason.observer:
        parts.append(f"observer={reason.observer[:12]}")
    return " ".join(parts)
