"""From a store to a grade: reopen, bind, decide, and name everything that it rests on."""

from importlib.resources import files

from cacheon import __version__
from cacheon.evidence.binding import Committed, bind
from cacheon.evidence.grade import GRADE, Grade, Reason, SetAside
from cacheon.evidence.pointers import GRADES, committed, named
from cacheon.evidence.reopening import Blobs, Reopened, reopen
from cacheon.evidence.store.port import Store
from cacheon.evidence.veto import decide
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

DECIDING = (
    "evidence/binding.py",
    "evidence/case.py",
    "evidence/delivery.py",
    "evidence/envelope.py",
    "evidence/grade.py",
    "evidence/grading.py",
    "evidence/keys.py",
    "evidence/launch.py",
    "evidence/observation.py",
    "evidence/pointers.py",
    "evidence/reasons.py",
    "evidence/refusals.py",
    "evidence/reopening.py",
    "evidence/requirement.py",
    "evidence/rows.py",
    "evidence/soundness.py",
    "evidence/store/limits.py",
    "evidence/veto.py",
    "records/canonical.py",
    "records/digest.py",
    "records/errors.py",
    "records/strict.py",
)
"""The files of this package on which a decision depends: all that this module imports of
it, the store apart, whose every answer is checked against its digest."""


def grade(store: Store, requirement: str) -> Grade:
    """The grade of a requirement (by digest), from everything that the store has committed.

    Raises RecordRefused where `requirement` is no digest, StoreFailed where the directory of
    pointers cannot be listed. Nothing is written."""
    return grade_reopened(reopen(store, requirement, committed(store, requirement)))


def regrade(blobs: Blobs, published: Grade) -> Grade:
    """The same evidence graded again, by this code and from these bytes.

    Deliveries that it does not name are not looked at (`auditing.recompute` does). Where the
    published grade missed one that is here now, the two may differ, and should."""
    rests_on = [Committed(observer="", digest=digest) for digest in published.deliveries]
    rests_on += [
        Committed(observer=reason.observer, digest=reason.detail)
        for reason in published.reasons
        if reason.code == "delivery-missing"
    ]
    return grade_reopened(reopen(blobs, published.requirement, rests_on))


def grade_reopened(reopened: Reopened) -> Grade:
    """The grade of what was reopened: a function of the bytes and of this code alone."""
    requirement = reopened.requirement
    if requirement is None:
        return Grade(
            schema=GRADE,
            requirement=reopened.digest,
            decision="NO_DECISION",
            reasons=(Reason(code="requirement-missing"),),
            set_aside=reopened.set_aside,
            deliveries=(),
            observations=(),
            policy=None,
            grader=__version__,
            grader_digest=grader_digest(),
        )
    bound = bind(requirement, reopened.digest, reopened.delivered, reopened.lost)
    verdict = decide(requirement, bound)
    return Grade(
        schema=GRADE,
        requirement=reopened.digest,
        decision=verdict.decision,
        reasons=verdict.reasons,
        set_aside=_sorted(reopened.set_aside + bound.set_aside),
        deliveries=tuple(sorted(each.digest for each in bound.deliveries)),
        observations=tuple(sorted({row.digest for each in bound.deliveries for row in each.rows})),
        policy=requirement.policy,
        grader=__version__,
        grader_digest=grader_digest(),
    )


def publish(store: Store, made: Grade) -> str:
    """Keep a grade, and the pointer that says so; its digest. May be repeated."""
    digest = store.put(encode(made))
    store.link(GRADES, named(made.requirement, digest), digest)
    return digest


def grader_digest() -> str:
    """The digest of the deciding source files, by their names and bytes."""
    root = files("cacheon")
    return sha256(encode({name: sha256(root.joinpath(name).read_bytes()) for name in DECIDING}))


def _sorted(aside: tuple[SetAside, ...]) -> tuple[SetAside, ...]:
    return tuple(sorted(aside, key=lambda each: (each.what, each.code)))
