"""Which other bytes a record needs in order to be graded again: what keeps them from a sweep."""

from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import Grade
from cacheon.evidence.kinds import known
from cacheon.evidence.running import Run, Seen


def references(data: bytes) -> tuple[str, ...]:
    """The digests of stored records that the record in `data` rests on, sorted.

    A delivery: its requirement and every observation that it lists. A grade: its
    requirement, where it was there to be read, and what was bound; not what was set aside,
    which may be anything. A run that goes on: its requirement, and what it has seen.
    Everything else stands alone: a requirement's bundle, contracts and policy are digests
    of what no store holds. Raises RecordRefused."""
    match known(data).record:
        case Delivery() as delivery:
            named = {delivery.requirement, *delivery.observations}
        case Grade() as grade:
            # Without a policy there was no requirement to read: the grade says that it is lost.
            requirement = {grade.requirement} if grade.policy else set()
            named = {*requirement, *grade.deliveries, *grade.observations}
        case Run() as run:
            named = {run.requirement}
        case Seen() as seen:
            named = {*seen.observations}
        case _:
            named = set()
    return tuple(sorted(named))
