"""What kind of record some bytes are, and the facts by which it is looked for."""

from typing import Final, NamedTuple

from cacheon.evidence.delivery import DELIVERY_TYPE, Delivery
from cacheon.evidence.envelope import MOST, Envelope
from cacheon.evidence.grade import GRADE, Grade
from cacheon.evidence.launch import LAUNCH, Launch
from cacheon.evidence.minimum import MINIMUM, Minimum
from cacheon.evidence.observation import OBSERVATION, Observation
from cacheon.evidence.requirement import REQUIREMENT, Requirement
from cacheon.evidence.running import RUN, SEEN_RECORD, Run, Seen
from cacheon.evidence.store.limits import LIMITS
from cacheon.records.canonical import LIMIT, decode
from cacheon.records.errors import RecordRefused

KINDS: Final = (
    "delivery",
    "envelope",
    "grade",
    "launch",
    "minimum",
    "observation",
    "requirement",
    "run",
    "seen",
)
"""What a store may hold. A delivery is stored in its envelope; `envelope` is any other."""
Stored = Delivery | Envelope | Grade | Launch | Minimum | Observation | Requirement | Run | Seen
_TYPES: Final[tuple[tuple[str, str, type[Stored], int], ...]] = (
    # A requirement holds its launch, schema and all: what holds others comes first.
    ("requirement", REQUIREMENT, Requirement, LIMITS.record_bytes),
    ("grade", GRADE, Grade, LIMITS.record_bytes),
    ("observation", OBSERVATION, Observation, LIMIT),
    ("launch", LAUNCH, Launch, LIMIT),
    ("minimum", MINIMUM, Minimum, LIMIT),
    ("run", RUN, Run, LIMIT),
    ("seen", SEEN_RECORD, Seen, LIMITS.record_bytes),
)


class Known(NamedTuple):
    """A record and its kind. `envelope` is the one that it came in, where it did."""

    kind: str
    record: Stored
    envelope: Envelope | None = None


def known(data: bytes, source: str = "") -> Known:
    """The record in some canonical bytes, by the schema that they name.

    An envelope is opened to be looked at: nobody's signature is verified. Raises
    RecordRefused."""
    if b'"payloadType":"' in data:
        return _enclosed(decode(data, Envelope, limit=MOST, source=source), source)
    refusals: list[RecordRefused] = []
    for kind, schema, record, limit in _TYPES:
        if b'"schema":"%s"' % schema.encode() in data:
            try:
                return Known(kind, decode(data, record, limit=limit, source=source))
            except RecordRefused as refusal:
                refusals.append(refusal)
    if refusals:
        raise refusals[0]
    raise RecordRefused(
        "not-a-record", file=source, expected="a record of a known schema", got="none"
    )


def describe(data: bytes) -> tuple[str, dict[str, str]]:
    """Kind and facts of a record's bytes, for a list. Raises RecordRefused."""
    found = known(data)
    return found.kind, facts(found.record)


def facts(record: Stored) -> dict[str, str]:
    """What a record is looked for by; a few words, none of them checked."""
    match record:
        case Requirement():
            return {
                "target": record.target,
                "bundle": record.bundle,
                "arena": f"{record.policy.arena} {record.policy.version}",
                "quorum": f"{record.quorum}",
            }
        case Delivery():
            return {
                "requirement": record.requirement,
                "observer": record.observer,
                "observations": f"{len(record.observations)}",
            }
        case Observation():
            return {
                "requirement": record.requirement,
                "slot": record.descriptor.slot,
                "variant": record.descriptor.variant,
                "failure": record.failure,
                "complete": "yes" if record.complete else "no",
            }
        case Grade():
            return {
                "requirement": record.requirement,
                "decision": record.decision,
                "reason": record.reasons[0].code if record.reasons else "",
            }
        case Run():
            return {"requirement": record.requirement, "observer": record.observer}
        case Seen():
            return {"run": record.run, "slot": record.slot, "variant": record.variant}
        case Minimum():
            return {"arena": record.arena, "version": f"{record.version}"}
        case Launch():
            return {"device": record.device, "devices": f"{len(record.devices)}"}
    return {"type": record.payload_type}


def _enclosed(envelope: Envelope, source: str) -> Known:
    if envelope.payload_type != DELIVERY_TYPE:
        return Known("envelope", envelope)
    delivery = decode(envelope.payload, Delivery, limit=LIMITS.record_bytes, source=source)
    return Known("delivery", delivery, envelope)
