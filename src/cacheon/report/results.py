"""What the workflows of evidence hand to a report."""

from cacheon.engine.outcome import VariantOutcome
from cacheon.evidence.grade import Grade
from cacheon.records.strict import Record


class Observed(Record):
    """What one run wrote. `delivery`: digest of the signed envelope; `resumed`: variants
    that an earlier, interrupted process had seen. `words`: a line for each variant seen
    now."""

    requirement: str
    run: str
    observer: str
    delivery: str
    observations: tuple[str, ...]
    resumed: tuple[str, ...]
    outcomes: tuple[VariantOutcome, ...]


class Qualified(Record):
    """One bundle. `refused`: the code with which its delivery was not taken in, and the
    line that says why, else empty. `error` says why there is no grade at all, else empty."""

    path: str
    bundle: str = ""
    requirement: str = ""
    observed: Observed | None = None
    refused: str = ""
    grade: Grade | None = None
    graded: str = ""
    error: str = ""
    exit_code: int = 2


class Qualification(Record):
    """Everything one command decided. `key`: the public key that was pinned."""

    arena: str
    key: str
    bundles: tuple[Qualified, ...]
    exit_code: int
