"""Stores as observers leave them, made by hand from the rows of `deciding.stored`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.paper.evidence.deciding.stored import (
    PINNED,
    PUBLIC,
    SIGNERS,
    pinned_rows,
    sealed,
    statement,
)
from tests.paper.evidence.deciding.world import RUNS, digest_of

from cacheon.evidence.grade import GRADE, Grade, Reason, SetAside
from cacheon.evidence.keys import SECRET
from cacheon.evidence.observation import Observation
from cacheon.evidence.pointers import named
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.running import SENT
from cacheon.evidence.store import DirectoryStore
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

A, B, C = (sha256(bytes([n])) for n in range(3))


def a_grade(**changes: Any) -> Grade:
    """A grade that rests on a delivery A and an observation B, and set C aside."""
    made = Grade(
        schema=GRADE,
        requirement=digest_of(PINNED),
        decision="PASS",
        reasons=(Reason(code="every-case-shown"),),
        set_aside=(SetAside(what=C, code="missing"),),
        deliveries=(A,),
        observations=(B,),
        policy=PINNED.policy,
        grader="0",
        grader_digest=C,
    )
    return msgspec.structs.replace(made, **changes)


def write_key(path: Path, lab: int = 0) -> Path:
    """The secret of a lab in a file, as `keys new` would leave it."""
    path.write_text(f"{SECRET}{bytes(SIGNERS[lab]._signer).hex()}\n")
    path.chmod(0o600)
    return path


def seen_by(lab: int = 0, requirement: Requirement = PINNED) -> list[Observation]:
    """What a lab saw of every case: all of it right."""
    return pinned_rows(RUNS[lab], requirement)


def body(
    rows: Sequence[Observation], requirement: Requirement = PINNED, lab: int = 0, **changes: Any
) -> bytes:
    """A signed delivery of the rows, with some fields changed before it was signed."""
    said = statement(rows, signer=lab, run=RUNS[lab], requirement=requirement)
    return sealed(msgspec.structs.replace(said, **changes), lab)


def observed(
    path: Path,
    rows: Sequence[Observation] | None = None,
    requirement: Requirement = PINNED,
    lab: int = 0,
    **changes: Any,
) -> str:
    """Leave in `path` what `observe` would; the delivery's digest."""
    seen = seen_by(lab, requirement) if rows is None else rows
    with DirectoryStore.open(path, create=True) as store:
        store.put(encode(requirement))
        for row in seen:
            store.put(encode(row))
        digest = store.put(body(seen, requirement, lab, **changes))
        store.link(SENT, named(digest_of(requirement), PUBLIC[lab]), digest)
    return digest
