"""What a rule is: one kind of fault, and what a kernel's author does about it."""

from typing import Literal

from cacheon.records.strict import Record

Group = Literal[
    "synchronization",
    "writes",
    "staleness",
    "streams",
    "allocation",
    "groups",
    "state",
    "declarations",
    "hostility",
]
Severity = Literal["error", "warning", "note"]
"""How bad it is where it is true."""
Confidence = Literal["high", "medium", "low"]
"""How often a finding of the scan is true; a run is always sure of what it saw."""
Detection = Literal["scan", "rehearsal", "cuda"]
Stage = Literal[
    "load",
    "prepare",
    "warmup",
    "eager",
    "capture",
    "replay",
    "perturb",
    "soak",
]


class Rule(Record, kw_only=True):
    """One kind of fault. `id` is stable, never reused, and its first digit is its group's.

    `title` names the fault in a line; `why` says what happens in serving because of it;
    `remedy` what to change in the candidate. `detected`: where it can be found; `stages`:
    of a run, where it shows. `bad` and `good` are whole sources of a row of `slot`, whose
    entry has the slot's last name; `files` lie beside both. `unscanned`: why the scan does
    not find it, where it does not claim to.
    """

    id: str
    title: str
    group: Group
    severity: Severity = "error"
    confidence: Confidence
    detected: tuple[Detection, ...]
    stages: tuple[Stage, ...]
    why: str
    remedy: str
    bad: str
    good: str
    slot: str = "activation.silu_and_mul"
    files: dict[str, str] = {}
    unscanned: str = ""
