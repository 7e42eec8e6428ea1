"""What an examination says: plain records that a report draws and a record stores."""

from typing import Annotated, Literal

import msgspec

from cacheon.records.strict import Record
from cacheon.scan.findings import ScanFinding

Stage = Literal[
    "load", "prepare", "warmup", "eager", "capture", "replay", "perturb", "burst", "soak"
]
FailureClass = Literal["none", "not_applicable", "eager", "capture", "replay"]
Status = Literal["ok", "fail", "not_applicable", "incomplete"]
Word = Literal["PASS", "NUMERICAL_PASS", "FAIL", "N/A", "NO_DECISION"]
Graph = Literal["verified", "NOT_VERIFIED", "not-required"]
Rehearsal = Literal["", "passed", "failed", "needs-cuda"]
OrderName = Literal["descending", "ascending"]
NodeKind = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9 ]{1,40}\Z")]
"""What a worker may call a kind of graph node: it becomes a key of a record, and no record is
written with one that is not plain."""
ORDERS: tuple[OrderName, ...] = ("descending", "ascending")


class Place(Record):
    """A line of the candidate: bundle-relative file, 1-based line, function, source."""

    file: str
    line: int
    function: str
    source: str


class Finding(Record):
    """One fault seen at one stage, named by its rule."""

    rule: str
    stage: Stage
    message: str
    place: Place | None = None
    order: OrderName | None = None


class OrderResult(Record):
    """How far one order of one case came."""

    order: OrderName
    stages: tuple[Stage, ...] = ()
    replays_completed: int = 0
    replays_passed: int = 0
    soak_completed: int = 0
    soak_passed: int = 0


class RankResult(Record):
    """How far one rank of a group came in one case."""

    rank: int
    orders: tuple[OrderResult, ...] = ()


class CaseRow(Record):
    """The row of one case. `infrastructure` says why it is incomplete, else empty.
    `max_abs` and `max_relative` are `float.hex()` strings of the worst compared answer.
    `company`: `alone` where the case fails by itself too, `company` where only beside
    others, empty where that was not tried. `hints`: lines that wait for the device in eager
    calls, where no capture was made, and for other ranks in a barrier that a capture leaves
    out. `nodes`: graph nodes by kind, where counted.
    `orders` is as far as every rank came; of a group, `ranks` is how far each did, and `rank`
    the one that is to blame, where one is."""

    label: str
    descriptor: dict[str, str | int]
    origin: str
    applicable: bool
    status: Status
    failure: FailureClass = "none"
    stage: Stage | None = None
    findings: tuple[Finding, ...] = ()
    orders: tuple[OrderResult, ...] = ()
    max_abs: str = ""
    max_relative: str = ""
    company: Literal["", "alone", "company"] = ""
    nodes: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    infrastructure: str = ""
    rank: int | None = None
    ranks: tuple[RankResult, ...] = ()

    @property
    def replayed(self) -> tuple[int, int]:
        """Right replays, and right ones in bursts, that every order came to."""
        return (
            min((order.replays_passed for order in self.orders), default=0),
            min((order.soak_passed for order in self.orders), default=0),
        )


class VariantOutcome(Record):
    """One variant of one bundle, examined. `probes`: adversities that were gone through
    (perturb, growth). `graph_replays` and `soak_replays`: right ones in every order of every
    case that applies, whatever was asked. `compilers`: kinds of compilation that left
    something in the candidate's private caches (triton, inductor, nvcc)."""

    slot: str
    variant: str
    dtype: str
    backend: str
    isolation: str
    word: Word
    graph: Graph
    rehearsal: Rehearsal = ""
    graph_replays: int = 0
    soak_replays: int = 0
    domain: Literal["full", "partial"] = "full"
    entry: str = ""
    source: str = ""
    rows: tuple[CaseRow, ...] = ()
    probes: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


class BundleOutcome(Record):
    """One bundle: its identity, its warnings, its variants. `scanned`: what its source
    says, which is advice, but for hostile material (CG9xx). `error` is the one line that
    says why the bundle is unusable, else empty."""

    path: str
    bundle_id: str = ""
    digest: str = ""
    warnings: tuple[str, ...] = ()
    not_selected: tuple[str, ...] = ()
    scanned: tuple[ScanFinding, ...] = ()
    variants: tuple[VariantOutcome, ...] = ()
    error: str = ""
    exit_code: int = 0
    seconds: float = 0.0


class RunOutcome(Record):
    """Everything one command saw. `environment` holds versions and the device's name."""

    seed: int
    device: str
    dtype: str
    environment: dict[str, str]
    bundles: tuple[BundleOutcome, ...]
    exit_code: int
