"""The examination itself was lost: how, and whose fault that is.

A process of the same user can kill the grader, the fork server and with it everybody, take
from any of them what they need to go on, or bring about that nothing is decided. Losing
must not pay as no decision: whatever was lost while a candidate was near, the control is
examined alone and then the candidate again, each from a fresh fork server; where only the
candidate brings it about, it is the candidate's failure.
"""

import re
import signal
from pathlib import Path
from typing import NamedTuple

from cacheon.engine.outcome import CaseRow, Finding, Stage, VariantOutcome
from cacheon.engine.protocol import Ended
from cacheon.engine.request import RunSettings, VariantRequest
from cacheon.engine.verdict import verdict_of
from cacheon.records.errors import InfrastructureError

_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(: |$)")
_VMSTAT = Path("/proc/vmstat")


class Fallen(InfrastructureError):
    """A step of the examination was lost. `rule`: the one that a candidate broke if it
    brought this about, empty where none was near. `stage`: how far the candidate had come,
    as far as the host knows. `outcome`: what was said, where it decides nothing."""

    def __init__(
        self,
        message: str,
        *,
        rule: str = "",
        stage: Stage = "load",
        outcome: VariantOutcome | None = None,
    ) -> None:
        super().__init__(message)
        self.rule, self.stage, self.outcome = rule, stage, outcome

    @property
    def struck(self) -> bool:
        return bool(self.rule)


class Tampered(Fallen):
    """The candidate changed what it must leave alone: seen once is enough."""


class End(NamedTuple):
    """How a process of ours ended, or was stopped, in words; by which `signal` of somebody
    else's, or with which exit `status`, -1 where they do not apply."""

    how: str
    signal: int = -1
    status: int = -1


NOT_THERE = End("it was not there")


def end_of(ended: Ended, *, stopped: bool) -> End:
    """How a grader ended. `stopped`: it was found held by a signal."""
    if stopped:
        return End("it was stopped by a signal", signal=signal.SIGSTOP)
    if ended.killed:
        return End("it had to be killed")
    last = _last_words(ended.output)
    said = f"; it said: {last[:300]}" if last else ""
    if ended.signal >= 0:
        return End(f"it died by signal {ended.signal}{said}", signal=ended.signal)
    return End(f"it left with status {ended.status}{said}", status=ended.status)


def _last_words(output: str) -> str:
    """The line that names the exception, where a traceback was printed: torch writes advice
    below it. Else the last line."""
    lines = output.strip().splitlines()
    named = [line for line in lines if _EXCEPTION.match(line)] if _TRACEBACK in output else []
    return (named or lines or [""])[-1]


def rule_of(end: End, *, inline: bool) -> str:
    """The rule that a candidate broke if it brought this end about. In the inline form the
    process that ended is the candidate's own too."""
    if inline and end.signal >= 0:
        return "CG901"
    return "CG902" if inline and end.status >= 0 else "CG905"


def undecided(outcome: VariantOutcome) -> str:
    """Why an outcome decides nothing; empty where it decides, or where only a GPU could."""
    if outcome.word != "NO_DECISION" or outcome.rehearsal == "needs-cuda":
        return ""
    reasons = (row.infrastructure for row in outcome.rows if row.status == "incomplete")
    return next((reason for reason in reasons if reason), "a case is incomplete")


def killed_for_memory() -> int:
    """How many processes the kernel has killed for want of memory; 0 where it does not say."""
    try:
        lines = _VMSTAT.read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def condemned(request: VariantRequest, settings: RunSettings, fallen: Fallen) -> VariantOutcome:
    """Every applicable case fails: the examination fell twice with this candidate, and
    stood with the control; or the candidate was seen to tamper with it."""
    message = fallen.message
    if not isinstance(fallen, Tampered):
        message = f"{message}, twice, and not with the control"
    finding = Finding(rule=fallen.rule, stage=fallen.stage, message=message)
    rows = tuple(
        CaseRow(
            label=case.label,
            descriptor=case.descriptor,
            origin=case.origin,
            applicable=case.applicable,
            status="fail" if case.applicable else "not_applicable",
            failure="eager" if case.applicable else "not_applicable",
            stage=fallen.stage if case.applicable else None,
            findings=(finding,) if case.applicable else (),
        )
        for case in request.cases
    )
    verdict = verdict_of(rows, device=settings.device, graph=request.graph, needs_cuda=False)
    return VariantOutcome(
        slot=request.slot,
        variant=request.variant,
        dtype=request.dtype,
        backend="cuda" if settings.device == "cuda" else "rehearsal",
        isolation=settings.isolation,
        word=verdict.word,
        graph=verdict.graph,
        rehearsal=verdict.rehearsal,
        domain=request.domain,
        entry=request.candidate.entry,
        source=request.candidate.source,
        rows=rows,
        notes=request.notes,
    )
