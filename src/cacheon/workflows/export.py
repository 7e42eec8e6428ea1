"""`export`: a grade, verified once more, as signed statements that others can read."""

import re
from datetime import UTC, datetime
from pathlib import Path

from cacheon.evidence.auditing import recompute
from cacheon.evidence.grade import Decision, Grade
from cacheon.evidence.keys import PREFIX, Key
from cacheon.evidence.pointers import committed
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.statements import grade_statement, sign_statements, summary_statement
from cacheon.evidence.store import LIMITS, DirectoryStore
from cacheon.records.canonical import decode
from cacheon.records.errors import CacheonError, InfrastructureError, InputError
from cacheon.records.strict import Record
from cacheon.workflows.naming import named_digest

_URI = re.compile(r"\A[a-z][a-z0-9+.-]*:[!-~]{1,500}\Z")


class Exported(Record):
    """Signed statements, one envelope a line. `key`: the public key that signed."""

    grade: str
    bundle: str
    decision: Decision
    verifier: str
    key: str
    data: bytes


def export(
    named: str, store: Path, key: Path, *, verifier: str = "", when: datetime | None = None
) -> Exported:
    """Statements about the grade of a digest, or of a prefix that only one record has.

    It is recomputed first: nobody signs what the evidence does not bear out. `verifier`: a
    URI, by default one of the signing key. Raises InputError; CacheonError (exit 1) where
    the evidence grades to something else, InfrastructureError (exit 3) where it is gone and
    for NO_DECISION, of which there is nothing to state."""
    if verifier and not _URI.match(verifier):
        raise InputError(place="--verifier", expected="a URI", got=ascii(verifier)[:200])
    signer = Key.load(key)
    public = signer.public.removeprefix(PREFIX)
    with DirectoryStore.open(store) as kept:
        digest = named_digest(kept, named)
        data = kept.get(digest)
        grade = decode(data, Grade, limit=LIMITS.record_bytes, source=digest)
        if grade.decision == "NO_DECISION":
            raise InfrastructureError(f"grade {digest}: NO_DECISION: there is nothing to export")
        found = recompute(kept, grade, committed(kept, grade.requirement))
        if found.outcome == "lost":
            lost = found.lost[0]
            raise InfrastructureError(f"grade {digest}: {lost.what} is gone ({lost.code})")
        if found.outcome == "differs":
            raise CacheonError(
                f"grade {digest}: {grade.decision} was published, and the evidence grades to "
                f"{found.made.decision}, or for other reasons (`cacheon audit` shows them)"
            )
        data = kept.get(grade.requirement)
    requirement = decode(data, Requirement, limit=LIMITS.record_bytes)
    who = verifier or f"urn:cacheon:key:{public}"
    statements = (
        grade_statement(requirement, grade, digest),
        summary_statement(requirement, grade, who, when or datetime.now(UTC)),
    )
    return Exported(
        grade=digest,
        bundle=requirement.bundle,
        decision=grade.decision,
        verifier=who,
        key=public,
        data=sign_statements(statements, signer),
    )
