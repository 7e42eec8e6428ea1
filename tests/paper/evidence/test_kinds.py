"""Which kind some bytes are, and which others they rest on."""

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import PINNED, PUBLIC, SIGNERS, sealed, statement
from tests.paper.evidence.deciding.world import FIRST, LAUNCHED, RUNS, a_row, digest_of
from tests.paper.evidence.laboratory import A, B, a_grade, seen_by

from cacheon.evidence.delivery import DELIVERY_TYPE
from cacheon.evidence.envelope import seal
from cacheon.evidence.kinds import KINDS, describe, known
from cacheon.evidence.minimum import MINIMUM, Minimum
from cacheon.evidence.references import references
from cacheon.evidence.running import RUN, SEEN_RECORD, Run, Seen
from cacheon.records.canonical import encode
from cacheon.records.errors import RecordRefused

ROWS = seen_by()
BODY = statement(ROWS)
RUNNING = Run(schema=RUN, requirement=digest_of(PINNED), observer=PUBLIC[0], run=RUNS[0])
SEEN = Seen(schema=SEEN_RECORD, run=RUNS[0], slot="s", variant="v", observations=(B, A))
STORED: dict[str, tuple[bytes, dict[str, str], list[str]]] = {
    "delivery": (
        sealed(BODY),
        {
            "requirement": digest_of(PINNED),
            "observer": PUBLIC[0],
            "observations": "5",
        },
        [digest_of(PINNED), *map(digest_of, ROWS)],
    ),
    "envelope": (seal(encode(BODY), "a/b", SIGNERS[:1]), {"type": "a/b"}, []),
    "grade": (
        encode(a_grade()),
        {
            "requirement": digest_of(PINNED),
            "decision": "PASS",
            "reason": "every-case-shown",
        },
        [digest_of(PINNED), A, B],
    ),
    "launch": (encode(LAUNCHED), {"device": "cuda", "devices": "2"}, []),
    "minimum": (
        encode(Minimum(schema=MINIMUM, arena="h200", version=2)),
        {"arena": "h200", "version": "2"},
        [],
    ),
    "observation": (
        encode(a_row(FIRST)),
        {
            "requirement": a_row(FIRST).requirement,
            "slot": FIRST.descriptor.slot,
            "variant": "small",
            "failure": "none",
            "complete": "yes",
        },
        [],
    ),
    "requirement": (
        encode(PINNED),
        {
            "target": "epilogue.v1",
            "bundle": PINNED.bundle,
            "arena": "h200 3",
            "quorum": "1",
        },
        [],
    ),
    "run": (
        encode(RUNNING),
        {"requirement": digest_of(PINNED), "observer": PUBLIC[0]},
        [digest_of(PINNED)],
    ),
    "seen": (encode(SEEN), {"run": RUNS[0], "slot": "s", "variant": "v"}, [A, B]),
}


def test_every_kind_is_here() -> None:
    assert tuple(STORED) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_known_by_its_bytes(kind: str) -> None:
    data, facts, rests_on = STORED[kind]
    assert describe(data) == (kind, facts)
    assert references(data) == tuple(sorted(rests_on))


def test_a_delivery_comes_with_its_envelope() -> None:
    data = STORED["delivery"][0]
    found = known(data)
    assert found.record == BODY
    assert found.envelope is not None
    assert found.envelope.payload_type == DELIVERY_TYPE
    assert known(STORED["grade"][0]).envelope is None


def test_a_grade_of_a_lost_requirement_rests_on_nothing() -> None:
    lost = a_grade(policy=None, deliveries=(), observations=(), reasons=())
    assert references(encode(lost)) == ()
    assert describe(encode(lost))[1]["reason"] == ""


def test_an_incomplete_row_says_so() -> None:
    row = msgspec.structs.replace(a_row(FIRST), complete=False)
    assert describe(encode(row))[1]["complete"] == "no"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not-a-record"),
        (b"{}", "not-a-record"),
        (b'{"schema":"cacheon/grade/2"}', "not-a-record"),
        (b'{"schema":"cacheon/grade/1"}', "not-a-record"),
        (STORED["grade"][0] + b" ", "not-canonical"),
        # A launch is inside, and is not what is wrong with it.
        (STORED["requirement"][0].replace(b'"quorum":1', b'"quorum":0'), "not-a-record"),
        (b'{"payloadType":"a"}', "not-a-record"),
        (seal(b"{}", DELIVERY_TYPE, SIGNERS[:1]), "not-a-record"),
        (encode(BODY), "not-a-record"),
    ],
)
def test_what_is_none_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(RecordRefused) as caught:
        known(data, "somewhere")
    assert caught.value.code == code
    assert caught.value.file == "somewhere"
    with pytest.raises(RecordRefused):
        references(data)


def test_the_refusal_is_about_the_outermost_schema() -> None:
    data = STORED["requirement"][0].replace(b'"quorum":1', b'"quorum":0')
    with pytest.raises(RecordRefused, match="a Requirement"):
        known(data)
