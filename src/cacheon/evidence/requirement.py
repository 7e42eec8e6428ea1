"""What must be shown before a candidate may replace a path: written before anything runs.

The authority writes it from the arena, the catalogue and the manifest alone, never from
an observer's report (source: the specification, «Declaration is not proof»).
"""

from typing import Annotated, Final, Literal

import msgspec

from cacheon.evidence.case import CaseDescriptor
from cacheon.evidence.launch import Launch
from cacheon.records.digest import Digest
from cacheon.records.strict import Record

REQUIREMENT: Final = "cacheon/requirement/1"
Count = Annotated[int, msgspec.Meta(ge=0)]


class Policy(Record):
    """Which published arena was applied: its name, version, and the digest of its bytes."""

    arena: str
    version: Count
    digest: Digest


class Member(Record):
    """A target's member. `contract`: digest over the slot's whole contract, its draws and
    its reference included."""

    slot: str
    contract: Digest


class RequiredCase(Record, gc=False):
    """A case that must be examined. `dims` and `choices` let an observer build it again;
    `case` names it, and must come out of them. `work`: bytes of one call."""

    case: Digest
    descriptor: CaseDescriptor
    dims: dict[str, int]
    choices: dict[str, bool]
    origin: Literal["catalogue", "boundary"]
    applicable: bool
    work: Count


class RequiredVariant(Record):
    """One selected row of the manifest and every case that it must answer for. `covered`:
    the cases cover its domain; else `missing` says what is not. `larger`: base dimensions of
    the larger call that the perturbation makes, within the published limits; its choices are
    those of the applicable case with the most work. Empty where no case applies."""

    slot: str
    variant: str
    source: str
    entry: str
    prepare: str
    graph_safe: Literal["true", "false", "unset"]
    covered: bool
    missing: tuple[str, ...]
    cases: tuple[RequiredCase, ...]
    larger: dict[str, int] = {}


class Observer(Record):
    """A key that may deliver: Ed25519 public key, 64 lower-case hexadecimal characters."""

    key: Digest
    name: str


class Requirement(Record):
    """Everything that a PASS needs. `bundle` is the tree digest of the candidate.
    `context`: fields fixed for all calls. `replays`, `soak`: compared replays a case and
    order, one at a time and in bursts. `quorum`: observers that must agree. `nonce`: 32
    random bytes; each pinned key delivers once for it."""

    schema: Literal["cacheon/requirement/1"]
    target: str
    members: tuple[Member, ...]
    bundle: Digest
    variants: tuple[RequiredVariant, ...]
    context: dict[str, str | int]
    launch: Launch
    compilation: tuple[str, ...]
    graph_required: bool
    replays: Count
    soak: Count
    probes: tuple[str, ...]
    isolation: Literal["process", "inline"]
    observers: tuple[Observer, ...]
    quorum: Annotated[int, msgspec.Meta(ge=1)]
    policy: Policy
    nonce: Digest
