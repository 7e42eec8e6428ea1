"""The bytes of each schema version, frozen: a record that spells otherwise is another schema.

The files hold exactly the canonical bytes, without a line feed at their end. What is stored
somewhere has such bytes; a change here makes it unreadable, and wants a new schema version."""

from pathlib import Path

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import DIGEST, PINNED, PUBLIC, sealed, statement
from tests.paper.evidence.deciding.world import FIRST, LAUNCHED, a_row, digest_of

from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import GRADE, Grade, Reason, SetAside
from cacheon.evidence.launch import Launch
from cacheon.evidence.observation import Observation, ObservedFinding
from cacheon.evidence.reopening import open_delivery
from cacheon.evidence.requirement import Requirement
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256

GOLDEN = Path(__file__).parents[1] / "golden"
ROW = a_row(FIRST, PINNED)
FAILED = msgspec.structs.replace(
    ROW,
    failure="replay",
    stage="perturb",
    findings=(
        ObservedFinding(
            rule="CG302", stage="perturb", message="half of out is poison", file="k.py", line=9
        ),
    ),
)
STATED = statement([ROW, FAILED])
GRADED = Grade(
    schema=GRADE,
    requirement=DIGEST,
    decision="FAIL",
    reasons=(
        Reason(
            code="failed-replay",
            slot=FIRST.descriptor.slot,
            variant=FIRST.descriptor.variant,
            case=FIRST.case,
            observer=PUBLIC[0],
            detail="CG302 at k.py:9: half of out is poison",
        ),
    ),
    set_aside=(SetAside(what=sha256(b"other"), code="other-nonce"),),
    deliveries=(sha256(sealed(STATED)),),
    observations=STATED.observations,
    policy=PINNED.policy,
    grader="0.1.0",
    grader_digest=sha256(b"grader"),
)
RECORDS: dict[str, tuple[msgspec.Struct, str]] = {
    "launch.1": (LAUNCHED, "2017ace37207a06ea67d96046f7a23d368a1419f84c377bd34c7bd1d1960c32b"),
    "requirement.1": (PINNED, "f831e94ce4bdabd22625494ebc8914ed374b50a10463338437b274cb3190d075"),
    "observation.1": (FAILED, "35f7ca9b6d216c067466d100b1eed9c867ca4e3daa676aca2f0ca35d94fd17d0"),
    "delivery.1": (STATED, "cf47296468ce7f911f9a6fbfce5d812f94d6f82d59717dc041f039c4ba89346d"),
    "grade.1": (GRADED, "94ac9360952c44e79016a6231e01203e1b6a2d37baadd73a144ff20d8971ef7d"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_its_golden_bytes(name: str) -> None:
    record, digest = RECORDS[name]
    data = (GOLDEN / f"{name}.json").read_bytes()
    assert encode(record) == data
    assert decode(data, type(record)) == record
    assert sha256(data) == digest_of(record) == digest


def test_a_signed_delivery_has_its_golden_bytes() -> None:
    data = (GOLDEN / "delivery.1.dsse.json").read_bytes()
    assert sealed(STATED) == data
    assert open_delivery(data, PUBLIC[:1]) == STATED


def test_every_schema_has_golden_bytes() -> None:
    assert {type(record) for record, _ in RECORDS.values()} == {
        Launch,
        Requirement,
        Observation,
        Delivery,
        Grade,
    }
