"""`grade`: from everything that a store has committed to a decision, published beside it."""

from collections.abc import Sequence
from pathlib import Path

from cacheon.bundle import open_bundle
from cacheon.evidence.binding import required_cases
from cacheon.evidence.grade import Grade
from cacheon.evidence.grading import grade_reopened, publish
from cacheon.evidence.minimum import minima, raise_minimum, refuse_older
from cacheon.evidence.pointers import REQUIREMENTS, committed, named
from cacheon.evidence.reopening import reopen
from cacheon.evidence.requirement import Requirement
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.errors import failing
from cacheon.evidence.store.layout import unfinished
from cacheon.records.digest import is_digest
from cacheon.records.errors import InputError, RecordRefused
from cacheon.records.strict import Record
from cacheon.workflows.naming import arena_version, requirement_named


class Graded(Record):
    """A grade, published under `digest`. `target`: empty where the requirement is lost.
    `calls`: the call of each case that a reason is about, in words, by the case's digest."""

    digest: str
    target: str
    calls: dict[str, str]
    grade: Grade


def grade(
    requirement: str, store: Path, *, bundle: str = "", minimum: Sequence[str] = ()
) -> Graded:
    """Reopen all that is committed for `requirement`, decide, and publish the grade.

    `requirement`: a digest, or a file, which is published in the store first. `bundle`: a
    directory or a tree digest that the requirement must bind. `minimum`: arenas,
    or NAME=VERSION: the oldest versions that count from now on, remembered in the store.

    Raises InputError where nothing is known of the requirement, where it binds another
    bundle or applies an older policy; StoreFailed where the store cannot be used. Then
    nothing is published."""
    # Where an intake died before there was a store, nothing was lost: there is no evidence.
    with failing(store):
        create = unfinished(store)
    with DirectoryStore.open(store, create=create) as kept:
        for text in minimum:
            raise_minimum(kept, *arena_version(text))
        digest = requirement_named(kept, requirement)
        deliveries = committed(kept, digest)
        named_here = bool(deliveries) or kept.pointer(REQUIREMENTS, named(digest)) is not None
        if not named_here and not kept.has(digest):
            raise _unknown(store, digest)
        reopened = reopen(kept, digest, deliveries)
        if not named_here and any(each.code == "not-a-record" for each in reopened.set_aside):
            raise _unknown(store, f"another record, {digest}")
        if reopened.requirement is not None:
            refuse_older(reopened.requirement, minima(kept))
            _refuse_other(reopened.requirement, bundle)
        made = grade_reopened(reopened)
        return Graded(
            digest=publish(kept, made),
            target=reopened.requirement.target if reopened.requirement else "",
            calls=calls(reopened.requirement, made) if reopened.requirement else {},
            grade=made,
        )


def calls(requirement: Requirement, made: Grade) -> dict[str, str]:
    """The calls of the cases that reasons are about."""
    named_cases = {reason.case for reason in made.reasons}
    return {
        case.case: " ".join(f"{name}={value}" for name, value in case.descriptor.call.items())
        for case in required_cases(requirement)
        if case.case in named_cases
    }


def _unknown(store: Path, got: str) -> RecordRefused:
    """What is known and lost is no decision; what was never here is a slip of the pen."""
    return RecordRefused(
        "requirement-unknown",
        file=str(store),
        expected="a requirement that was published here",
        got=got,
    )


def _refuse_other(requirement: Requirement, bundle: str) -> None:
    if not bundle:
        return
    tree = bundle if is_digest(bundle) else open_bundle(Path(bundle)).digest
    if requirement.bundle != tree:
        raise InputError(
            place="--expect-bundle", expected=f"the bundle {tree}", got=requirement.bundle
        )
