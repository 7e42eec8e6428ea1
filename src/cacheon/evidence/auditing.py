"""A published grade held against what its evidence says today, and against a log."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from cacheon.evidence.binding import Committed
from cacheon.evidence.checkpoint import Checkpoint, check_extends, check_included, entry
from cacheon.evidence.envelope import Pin
from cacheon.evidence.grade import Decision, Grade, SetAside
from cacheon.evidence.grading import grade_reopened, regrade
from cacheon.evidence.log import Log
from cacheon.evidence.reopening import Blobs, reopen
from cacheon.records.errors import RecordRefused

Outcome = Literal["same", "differs", "lost"]
LOST: Final = frozenset(
    ("missing", "corrupt", "too-large", "not-a-file", "hard-link", "not-a-directory", "io", "full")
)
"""Codes that say of bytes that they cannot be had, whatever they were."""
_GRAVITY: Final[dict[Decision, int]] = {"PASS": 0, "NO_DECISION": 1, "FAIL": 2}


class Recomputed(NamedTuple):
    """`made`: the grade of today. `lost`: what the published one rests on and could not be had:
    with it nobody knows what would come out."""

    outcome: Outcome
    made: Grade
    lost: tuple[SetAside, ...]


def recompute(blobs: Blobs, published: Grade, taken_in: Sequence[Committed]) -> Recomputed:
    """Grade the same evidence again, and compare. `taken_in`: every delivery that is committed
    for the requirement (`pointers.committed`).

    1. Everything is reopened from its bytes. 2. Where something of it cannot be had, the
    outcome is `lost`. 3. Else decision and every reason, details included, are the same, in
    the same order, and so are policy, deliveries and observations that it names; or the
    outcome is `differs`. The grader's version may be another: that is what the comparison is
    for. 4. A delivery that the grade leaves out may have come since, or was left out by whoever
    wrote it: nobody can tell. Where all that was taken in grades graver than was published,
    the outcome is `differs`."""
    # 1.
    made = regrade(blobs, published)
    # 2.
    rests_on = {*published.deliveries, *published.observations}
    if published.policy is not None:
        rests_on.add(published.requirement)
    lost = tuple(each for each in made.set_aside if each.what in rests_on and each.code in LOST)
    if lost:
        return Recomputed("lost", made, lost)
    # 3.
    if _said(made) != _said(published):
        return Recomputed("differs", made, ())
    # 4.
    if not {each.digest for each in taken_in} <= {*published.deliveries}:
        whole = grade_reopened(reopen(blobs, published.requirement, taken_in))
        if _GRAVITY[whole.decision] > _GRAVITY[published.decision]:
            return Recomputed("differs", whole, ())
    return Recomputed("same", made, ())


def _said(grade: Grade) -> tuple[object, ...]:
    """All that a grade says of its evidence, but for what changed nothing."""
    return (grade.decision, grade.reasons, grade.policy, grade.deliveries, grade.observations)


def follow(log: Log, pins: Iterable[Pin], earlier: Checkpoint | None = None) -> Checkpoint:
    """The last checkpoint of a log that fits every one that it keeps, and one that was kept
    elsewhere.

    1. Each is signed by a pinned key, and the entries under it are those that it was signed
    for. 2. So it is with `earlier`, and the proof leads from it to the last one. Raises
    RecordRefused by the codes of `evidence.checkpoint`, and `unsigned` where nothing was
    signed at all."""
    # 1.
    found = log.check(pins, kept=() if earlier is None else (earlier,))
    if not found:
        raise RecordRefused("unsigned", file=log.path, expected="a signed checkpoint", got="none")
    # 2.
    if earlier is not None:
        if found[-1].size < earlier.size:
            raise RecordRefused(
                "log-order",
                file=log.path,
                expected=f"a checkpoint of {earlier.size} entries or more",
                got=f"{found[-1].size}",
            )
        check_extends(earlier, found[-1], log.consistency(earlier, found[-1]))
    return found[-1]


def listed(log: Log, kind: str, digest: str, checkpoint: Checkpoint) -> bool:
    """Whether the checkpoint covers the entry, shown by a proof. Raises RecordRefused."""
    wanted = entry(kind, digest)
    entries = log.entries()[: checkpoint.size]
    if wanted not in entries:
        return False
    index = entries.index(wanted)
    check_included(wanted, log.inclusion(index, checkpoint), checkpoint)
    return True
