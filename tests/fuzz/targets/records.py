"""The gate before every record of evidence: `records.canonical.decode`, and what looks at it."""

from pathlib import Path

import msgspec
from tests.fuzz.targets.target import Target, refused

from cacheon.evidence.checkpoint import Checkpoint, Consistency, Entry, Inclusion
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import Grade
from cacheon.evidence.kinds import describe
from cacheon.evidence.launch import Launch
from cacheon.evidence.minimum import Minimum
from cacheon.evidence.observation import Observation
from cacheon.evidence.references import references
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.running import Run, Seen
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import is_digest, sha256
from cacheon.records.errors import CacheonError
from cacheon.records.strict import Record

_GOLDEN = Path(__file__).parents[2] / "paper" / "evidence" / "golden"
_STORED: dict[str, type[Record]] = {
    "requirement": Requirement,
    "observation": Observation,
    "delivery": Delivery,
    "grade": Grade,
    "launch": Launch,
    "minimum": Minimum,
    "run": Run,
    "seen": Seen,
}
"""By the kind that a store would call it."""
_BESIDE: tuple[type[Record], ...] = (Entry, Checkpoint, Inclusion, Consistency)
_FIELDS = tuple(
    f'"{field}":'.encode()
    for kind in (*_STORED.values(), *_BESIDE)
    for field in kind.__struct_encode_fields__
)


def check(data: bytes) -> bool:
    """1. At most one type takes the bytes. 2. They are the canonical bytes of what was read,
    and decode to an equal record. 3. The list has a kind and facts for whatever a store holds,
    and its references are digests."""
    taken = [kind for kind in (*_STORED.values(), *_BESIDE) if _takes(data, kind)]
    assert len(taken) <= 1, taken
    for kind in taken:
        record = decode(data, kind)
        assert encode(record) == data
        assert decode(encode(msgspec.to_builtins(record)), kind) == record
        if kind not in _BESIDE and kind is not Delivery:
            said, facts = describe(data)
            assert _STORED[said] is kind
            assert all(isinstance(fact, str) for fact in facts.values())
            assert all(map(is_digest, references(data)))
    return bool(taken)


def _takes(data: bytes, kind: type[Record]) -> bool:
    try:
        decode(data, kind, source="stored")
    except CacheonError as error:
        return refused(error)
    return True


def seeds() -> list[bytes]:
    golden = [path.read_bytes() for path in sorted(_GOLDEN.glob("*.json"))]
    return [data for data in golden if b"payloadType" not in data]


TARGET = Target(
    "records",
    check,
    seeds,
    words=(
        *_FIELDS,
        *(
            sha256(b"a").encode(),
            b'"passed":true',
            b'"PASS"',
            b'"not_applicable"',
            b"0x1.8p+0",
            b"CG101",
        ),
    ),
)
