"""A decision, every reason for it, and the digests of all that it rests on."""

from typing import Final, Literal

from cacheon.evidence.requirement import Policy
from cacheon.records.digest import Digest
from cacheon.records.strict import Record

GRADE: Final = "cacheon/grade/1"
Decision = Literal["PASS", "FAIL", "NO_DECISION"]


class Reason(Record):
    """Why, by a code of `evidence.reasons`. `slot`, `variant` and `case` (a digest) are
    empty where the reason is not about one; `detail` is for people."""

    code: str
    slot: str = ""
    variant: str = ""
    case: str = ""
    observer: str = ""
    detail: str = ""


class SetAside(Record):
    """Bytes that changed nothing: their digest, and why they are not bound."""

    what: Digest
    code: str
    detail: str = ""


class Grade(Record):
    """`reasons`: the first leads. `deliveries` and `observations`: what was bound, sorted.
    `policy`: the requirement's; null where the requirement could not be reopened. `grader`:
    version of the code that decided; `grader_digest`: of its source."""

    schema: Literal["cacheon/grade/1"]
    requirement: Digest
    decision: Decision
    reasons: tuple[Reason, ...]
    set_aside: tuple[SetAside, ...]
    deliveries: tuple[Digest, ...]
    observations: tuple[Digest, ...]
    policy: Policy | None
    grader: str
    grader_digest: Digest
