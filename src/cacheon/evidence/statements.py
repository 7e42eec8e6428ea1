"""A grade as others read it: in-toto statements, signed as DSSE envelopes.

Two statements about the same subject, the bundle's tree digest: the grade itself, and a
SLSA verification summary, whose readers need know nothing of grades. A summary has no
value for «no decision»: then there is none, and no statement either.
"""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import msgspec

from cacheon.evidence.envelope import seal
from cacheon.evidence.grade import Grade
from cacheon.evidence.keys import Key
from cacheon.evidence.requirement import Requirement
from cacheon.records.canonical import encode
from cacheon.records.digest import Digest
from cacheon.records.strict import Record

STATEMENT_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
GRADE_PREDICATE: Final = "urn:cacheon:grade:1"
SUMMARY_PREDICATE: Final = "https://slsa.dev/verification_summary/v1"
REPLAYED, EAGER, FAILED = "CACHEON_GRAPH_REPLAY", "CACHEON_EAGER", "FAILED"
"""Levels of a summary: what a PASS shows where graphs are required, and where they are not;
FAILED is the summary's own word."""
_RESULTS: Final[dict[str, Literal["PASSED", "FAILED"]]] = {"PASS": "PASSED", "FAIL": "FAILED"}


class DigestSet(Record):
    """Digests of one thing, by algorithm."""

    sha256: Digest


class Subject(Record):
    """What a statement is about: the bundle by its tree digest."""

    name: str
    digest: DigestSet


class GradePredicate(Record):
    """The grade record, and the digest under which it is published."""

    digest: Digest
    target: str
    grade: Grade


class Resource(Record):
    """Something that the summary rests on."""

    uri: str
    digest: DigestSet


class Verifier(Record):
    """Who verified, by a URI of its own choice."""

    id: str


class Summary(Record, rename="camel"):
    """A verification summary, as SLSA names its fields. `time_verified`: RFC 3339, UTC."""

    verifier: Verifier
    time_verified: str
    resource_uri: str
    policy: Resource
    input_attestations: tuple[Resource, ...]
    verification_result: Literal["PASSED", "FAILED"]
    verified_levels: tuple[str, ...]


class Statement(Record, rename={"kind": "_type", "predicate_type": "predicateType"}):
    """An in-toto Statement v1."""

    kind: Literal["https://in-toto.io/Statement/v1"]
    subject: Annotated[tuple[Subject, ...], msgspec.Meta(min_length=1)]
    predicate_type: str
    predicate: GradePredicate | Summary


def grade_statement(requirement: Requirement, grade: Grade, digest: str) -> Statement:
    """What was decided, why, and on what it rests. `digest`: the grade's."""
    predicate = GradePredicate(digest=digest, target=requirement.target, grade=grade)
    return _statement(requirement, GRADE_PREDICATE, predicate)


def summary_statement(
    requirement: Requirement, grade: Grade, verifier: str, when: datetime
) -> Statement:
    """The same for readers of SLSA. Raises ValueError for a grade that decides nothing."""
    if grade.decision == "NO_DECISION":
        raise ValueError("a summary has no value for no decision")
    policy = requirement.policy
    passed = REPLAYED if requirement.graph_required else EAGER
    summary = Summary(
        verifier=Verifier(id=verifier),
        time_verified=when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        resource_uri=f"urn:cacheon:bundle:{requirement.bundle}",
        policy=_resource(f"urn:cacheon:arena:{policy.arena}:{policy.version}", policy.digest),
        input_attestations=tuple(
            _resource(f"urn:cacheon:delivery:{each}", each) for each in grade.deliveries
        ),
        verification_result=_RESULTS[grade.decision],
        verified_levels=(passed if grade.decision == "PASS" else FAILED,),
    )
    return _statement(requirement, SUMMARY_PREDICATE, summary)


def sign_statements(statements: tuple[Statement, ...], key: Key) -> bytes:
    """An envelope a line, as attestations are bundled: JSON lines."""
    return b"".join(seal(encode(each), STATEMENT_TYPE, [key]) + b"\n" for each in statements)


def _statement(
    requirement: Requirement, predicate_type: str, predicate: GradePredicate | Summary
) -> Statement:
    subject = Subject(name="cacheon-bundle", digest=DigestSet(sha256=requirement.bundle))
    return Statement(
        kind=STATEMENT, subject=(subject,), predicate_type=predicate_type, predicate=predicate
    )


def _resource(uri: str, digest: str) -> Resource:
    return Resource(uri=uri, digest=DigestSet(sha256=digest))
