"""`audit`: a published grade recomputed anywhere, and found in the log, or not."""

from collections.abc import Sequence
from pathlib import Path

from cacheon.evidence.auditing import Outcome, follow, listed, recompute
from cacheon.evidence.checkpoint import Entry
from cacheon.evidence.grade import Grade, SetAside
from cacheon.evidence.log import Log
from cacheon.evidence.pointers import committed
from cacheon.evidence.store import LIMITS, DirectoryStore
from cacheon.records.canonical import decode
from cacheon.records.errors import InputError, RecordRefused
from cacheon.records.strict import Record
from cacheon.workflows.log import Pinned, contradiction, kept_checkpoint, pinned_log
from cacheon.workflows.naming import named_digest


class Logged(Record):
    """What a log says of a grade. `contradiction`: how the log differs from what it signed,
    with a stable code, else empty; where it does nothing else is known. `requirement`,
    `grade`: whether the last checkpoint covers them. `absent`: any entries whose bytes the
    store lacks."""

    origin: str
    contradiction: str = ""
    size: int = 0
    since: int = -1
    requirement: bool = False
    grade: bool = False
    absent: tuple[Entry, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.contradiction and self.requirement and self.grade


class Audited(Record):
    """`made`: what the same evidence grades to today. `lost`: what could not be had."""

    digest: str
    outcome: Outcome
    published: Grade
    made: Grade
    lost: tuple[SetAside, ...]
    log: Logged | None


def audit(
    named: str,
    store: Path,
    *,
    log: Path | None = None,
    keys: Sequence[str] = (),
    since: Path | None = None,
) -> Audited:
    """Recompute the grade of a digest, or of a prefix that only one record has, from the
    evidence in `store`; nothing is written there but, for a prefix, the list of `ls`.

    With `log`, see that it fits its checkpoints and the one in the file `since`, and that the
    last one covers requirement and grade; `keys`: NAME=KEY. Raises InputError for what is
    no grade, no store, no log, or signed by nobody pinned."""
    if (log is None) != (not keys) or (since is not None and log is None):
        raise InputError(place="--log", expected="--log and --log-key together", got="one of them")
    with DirectoryStore.open(store) as kept:
        digest = named_digest(kept, named)
        data = kept.get(digest)
        published = decode(data, Grade, limit=LIMITS.record_bytes, source=digest)
        recomputed = recompute(kept, published, committed(kept, published.requirement))
        logged = None
        if log is not None:
            logged = _look(log, pinned_log(keys), since, kept, published.requirement, digest)
    return Audited(
        digest=digest,
        outcome=recomputed.outcome,
        published=published,
        made=recomputed.made,
        lost=recomputed.lost,
        log=logged,
    )


def _look(
    log: Path,
    pinned: Pinned,
    since: Path | None,
    store: DirectoryStore,
    requirement: str,
    grade: str,
) -> Logged:
    earlier = kept_checkpoint(since, pinned)
    with Log(log, origin=pinned.origin) as opened:
        try:
            last = follow(opened, pinned.pins, earlier)
        except RecordRefused as refusal:
            return Logged(origin=pinned.origin, contradiction=contradiction(refusal))
        return Logged(
            origin=pinned.origin,
            size=last.size,
            since=-1 if earlier is None else earlier.size,
            requirement=listed(opened, "requirement", requirement, last),
            grade=listed(opened, "grade", grade, last),
            absent=opened.absent(store),
        )
