"""Which reopened rows speak about a requirement, and which change nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from cacheon.evidence.case import CaseDescriptor
from cacheon.evidence.delivery import Delivery
from cacheon.evidence.grade import SetAside
from cacheon.evidence.observation import Observation
from cacheon.evidence.requirement import RequiredCase, Requirement
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256


class Row(NamedTuple):
    """One reopened observation under the digest of its bytes."""

    digest: str
    observation: Observation


class Committed(NamedTuple):
    """A delivery that a store has committed: its observer's key, and the digest of its
    envelope, empty where the pointer cannot be read."""

    observer: str
    digest: str


class Delivered(NamedTuple):
    """One reopened delivery. `digest`: of the envelope's bytes. The signature of the observer
    that it names was verified. `missing`: digests that it lists and that could not be reopened
    as observations."""

    digest: str
    delivery: Delivery
    rows: tuple[Row, ...]
    missing: tuple[str, ...]


class Bound(NamedTuple):
    """What speaks: deliveries with their bound rows only, sorted by observer and digest; and
    what does not, sorted by digest and code. `lost`: deliveries that were committed and whose
    bytes could not be had, so that nobody knows what they say."""

    deliveries: tuple[Delivered, ...]
    set_aside: tuple[SetAside, ...]
    lost: tuple[Committed, ...] = ()


class Expected(NamedTuple):
    """What every bound row must carry. `cases`: by digest."""

    requirement: str
    nonce: str
    launch: str
    bundle: str
    isolation: str
    keys: frozenset[str]
    cases: dict[str, CaseDescriptor]


def expected_of(requirement: Requirement, digest: str) -> Expected:
    """What a requirement, stored under `digest`, asks rows to carry."""
    return Expected(
        requirement=digest,
        nonce=requirement.nonce,
        launch=sha256(encode(requirement.launch)),
        bundle=requirement.bundle,
        isolation=requirement.isolation,
        keys=frozenset(observer.key for observer in requirement.observers),
        cases={case.case: case.descriptor for case in required_cases(requirement)},
    )


def required_cases(requirement: Requirement) -> tuple[RequiredCase, ...]:
    """Every case of every variant, in the requirement's order."""
    return tuple(case for variant in requirement.variants for case in variant.cases)


def delivery_refusal(expected: Expected, delivery: Delivery) -> str:
    """The code by which a delivery is not bound; empty where it is."""
    if delivery.observer not in expected.keys:
        return "key-not-pinned"
    if delivery.requirement != expected.requirement:
        return "other-requirement"
    if delivery.nonce != expected.nonce:
        return "other-nonce"
    return "" if delivery.launch == expected.launch else "other-launch"


def row_refusal(expected: Expected, delivery: Delivery, row: Observation) -> str:
    """The code by which an observation is not bound; empty where it is.

    The descriptor is held against the required one, of which `soundness` recomputes the
    digest: that the row's own pair fits follows, without hashing every row."""
    if row.requirement != expected.requirement:
        return "other-requirement"
    if row.nonce != expected.nonce:
        return "other-nonce"
    if row.run != delivery.run:
        return "other-run"
    if row.launch != expected.launch:
        return "other-launch"
    if row.bundle != expected.bundle:
        return "other-bundle"
    required = expected.cases.get(row.case)
    if required is None:
        return "not-required"
    if row.descriptor != required:
        return "other-case"
    # A rehearsal on a CPU captures nothing: it is never evidence, whatever it says.
    if row.backend != "cuda":
        return "rehearsal"
    return "" if row.isolation == expected.isolation else "isolation"


def bind(
    requirement: Requirement,
    digest: str,
    delivered: Sequence[Delivered],
    lost: Sequence[Committed] = (),
) -> Bound:
    """Sort what was reopened into bound and set aside.

    1. A delivery is bound where its observer's key is pinned and it is for this requirement,
       nonce and launch. Else it is set aside, and nothing that it lists is looked at
       through it.
    2. A row is bound where it carries this requirement, nonce, launch and bundle, the run of
       its delivery, a required case as the requirement describes it, was seen on CUDA, and
       with the isolation asked for.
    3. The same bytes offered twice are one. Two deliveries of one key are both bound here,
       lest the second hide what the first showed; the veto lets neither pass.

    The caller owes: that `digest` names the bytes of `requirement`, that digests of rows and
    deliveries name theirs, and that each delivery's observer signed it (`evidence.reopening`
    sees to all of it)."""
    expected = expected_of(requirement, digest)
    bound: dict[str, Delivered] = {}
    aside: set[tuple[str, str]] = set()
    for offered in delivered:
        # 1.
        code = delivery_refusal(expected, offered.delivery)
        if code:
            aside.add((offered.digest, code))
            continue
        # 2.
        rows: dict[str, Row] = {}
        for row in offered.rows:
            code = row_refusal(expected, offered.delivery, row.observation)
            if code:
                aside.add((row.digest, code))
            else:
                rows[row.digest] = row
        # 3.
        bound[offered.digest] = offered._replace(
            rows=tuple(rows[name] for name in sorted(rows)),
            missing=tuple(sorted(set(offered.missing))),
        )
    return Bound(
        deliveries=tuple(
            sorted(bound.values(), key=lambda each: (each.delivery.observer, each.digest))
        ),
        set_aside=tuple(SetAside(what=what, code=code) for what, code in sorted(aside)),
        lost=tuple(sorted(set(lost))),
    )
