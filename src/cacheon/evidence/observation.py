"""What one observer saw of one required case. Raw: there is no field for a verdict."""

from typing import Annotated, Final, Literal

import msgspec

from cacheon.evidence.case import CaseDescriptor
from cacheon.records.digest import Digest
from cacheon.records.strict import Record

OBSERVATION: Final = "cacheon/observation/1"
Count = Annotated[int, msgspec.Meta(ge=0)]
Exact = Annotated[
    str, msgspec.Meta(pattern=r"\A(-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?inf|nan|)\Z")
]
"""A number as `float.hex()` spells it, or nothing."""
Stage = Literal[
    "load", "prepare", "warmup", "eager", "capture", "replay", "perturb", "burst", "soak"
]
FailureClass = Literal["none", "not_applicable", "eager", "capture", "replay"]
OrderName = Literal["descending", "ascending"]
ORDERS: tuple[OrderName, ...] = ("descending", "ascending")


class OrderObservation(Record, gc=False):
    """How far one order of the case came: stages passed, and answers compared and right."""

    order: OrderName
    stages: tuple[Stage, ...]
    replays_completed: Count
    replays_passed: Count
    soak_completed: Count
    soak_passed: Count


class ObservedFinding(Record, gc=False):
    """One fault, named by its rule. `file` and `line` (from 1) are empty and 0 where no
    line of the candidate is to blame."""

    rule: Annotated[str, msgspec.Meta(pattern=r"\ACG[1-9][0-9]{2}\Z")]
    stage: Stage
    message: str
    file: str
    line: Count


class RankObservation(Record, gc=False):
    """What one rank of a group saw; a single process is rank 0."""

    rank: Count
    orders: tuple[OrderObservation, ...]


class Observation(Record, gc=False):
    """One row of evidence. `case` is the digest of `descriptor`. `stage` is empty where
    nothing failed; `infrastructure` says why the row is not complete, and is empty where
    it is. `max_abs`, `max_relative`: `float.hex()` of the worst compared answer, or
    empty. `compilers`: kinds of compilation seen. `nodes`: graph nodes by kind."""

    schema: Literal["cacheon/observation/1"]
    requirement: Digest
    nonce: Digest
    run: Digest
    launch: Digest
    bundle: Digest
    case: Digest
    descriptor: CaseDescriptor
    applicable: bool
    graph_required: bool
    ranks: tuple[RankObservation, ...]
    failure: FailureClass
    stage: Stage | Literal[""]
    complete: bool
    infrastructure: str
    findings: tuple[ObservedFinding, ...]
    probes: tuple[str, ...]
    compilers: tuple[str, ...]
    nodes: dict[str, Count]
    max_abs: Exact
    max_relative: Exact
    backend: Literal["cuda", "rehearsal"]
    isolation: Literal["process", "inline"]
