"""The bytes of each schema version, frozen: a record that spells otherwise is another schema.

The files hold exactly the canonical bytes, without a line feed at their end. What is stored
somewhere has such bytes; a change here makes it unreadable, and wants a new schema version."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import DIGEST, PINNED, PUBLIC, sealed, statement
from tests.paper.evidence.deciding.world import FIRST, LAUNCHED, a_row, digest_of

import cacheon.evidence
from cacheon.evidence.checkpoint import Checkpoint, Consistency, Entry, Inclusion
from cacheon.evidence.grade import GRADE, Grade, Reason, SetAside
from cacheon.evidence.minimum import MINIMUM, Minimum
from cacheon.evidence.observation import ObservedFinding
from cacheon.evidence.reopening import open_delivery
from cacheon.evidence.running import RUN, SEEN_RECORD, Run, Seen
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.records.strict import Record

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
MOST = Minimum(schema=MINIMUM, arena="h200-decode", version=3)
RUNNING = Run(schema=RUN, requirement=DIGEST, observer=PUBLIC[0], run=STATED.run)
WALKED = Seen(
    schema=SEEN_RECORD,
    run=STATED.run,
    slot=FIRST.descriptor.slot,
    variant=FIRST.descriptor.variant,
    observations=STATED.observations,
)
ENTRY = Entry(schema="cacheon/log-entry/1", kind="grade", digest=digest_of(GRADED))
SIGNED = Checkpoint(
    schema="cacheon/checkpoint/1", origin="lab.example/log", size=2, root=sha256(b"root")
)
PATH = (sha256(b"left"), sha256(b"right"))
INCLUDED = Inclusion(schema="cacheon/inclusion/1", index=1, size=3, path=PATH)
GROWN = Consistency(schema="cacheon/consistency/1", first=2, second=3, path=PATH)
RECORDS: dict[str, tuple[msgspec.Struct, str]] = {
    "launch.1": (LAUNCHED, "2017ace37207a06ea67d96046f7a23d368a1419f84c377bd34c7bd1d1960c32b"),
    "requirement.1": (PINNED, "f831e94ce4bdabd22625494ebc8914ed374b50a10463338437b274cb3190d075"),
    "observation.1": (FAILED, "35f7ca9b6d216c067466d100b1eed9c867ca4e3daa676aca2f0ca35d94fd17d0"),
    "delivery.1": (STATED, "cf47296468ce7f911f9a6fbfce5d812f94d6f82d59717dc041f039c4ba89346d"),
    "grade.1": (GRADED, "94ac9360952c44e79016a6231e01203e1b6a2d37baadd73a144ff20d8971ef7d"),
    "minimum.1": (MOST, "aaa802c65ebbc3b96aec5c9550b0e8080d54193fa237416df81a2267b25a4374"),
    "run.1": (RUNNING, "0728386de33b2822f7732a5305a4f126ec5aff8a42ab4c77c733e974c289c950"),
    "seen.1": (WALKED, "0ac8b499e02074703363bc651cd2f04d62fbf72bd98dcd27d2a8621519cb4bb6"),
    "log-entry.1": (ENTRY, "f36977bd8bb06970bc19c602d6c63ec36dd81142ea44043079825cf56d7ddf4d"),
    "checkpoint.1": (SIGNED, "363a4637042ad589c58b9f9997bc6d31b0a010cab65ca173c4b72bac6691dcd3"),
    "inclusion.1": (INCLUDED, "6e2a10df56ed52875fbeeb4c962357ccef7d1004fb44ffca9c2487e66d55cc23"),
    "consistency.1": (GROWN, "a24fd14b22ea2c2aba4431e3ff0e1e14c9c2ec51b344329d0500fdbea73068a0"),
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


def schemas() -> dict[str, type[Record]]:
    """Every record of the evidence layer that names a schema, by that schema."""
    for module in pkgutil.walk_packages(cacheon.evidence.__path__, "cacheon.evidence."):
        import_module(module.name)
    return {
        name: kind
        for kind in below(Record)
        if kind.__module__.startswith("cacheon.evidence.") and "schema" in kind.__struct_fields__
        for name in get_args(get_type_hints(kind)["schema"])
    }


def below(kind: type[Record]) -> Iterator[type[Record]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_every_schema_has_golden_bytes() -> None:
    frozen = {
        f"cacheon/{name.replace('.', '/')}": type(record) for name, (record, _) in RECORDS.items()
    }
    assert len(frozen) >= 12
    assert schemas() == frozen
    files = {path.name for path in GOLDEN.iterdir()}
    assert files == {f"{name}.json" for name in (*RECORDS, "delivery.1.dsse")}
