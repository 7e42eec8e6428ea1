"""Deliveries that are taken in, and what follows from what they show."""

from collections.abc import Iterator

from tests.conformance.making.entry import GRADE, INTAKE, Entry, graded, regraded, sent, stored
from tests.conformance.making.world import (
    BEYOND,
    KEYS,
    LARGE,
    OTHER_SLOT,
    REQUIREMENT,
    SLOT,
    SMALL,
    Body,
    a_case,
    a_delivery,
    a_row,
    a_variant,
    an_envelope,
    an_order,
    canonical,
    changed,
    digest,
    rows_of,
    sha256,
)

OTHERS = [a_row(LARGE), a_row(BEYOND)]
MEMBER = {"slot": OTHER_SLOT, "contract": sha256(b"another contract")}
NORM = a_case(OTHER_SLOT, "default", 8)
TWO_MEMBERS = changed(
    REQUIREMENT,
    target="a pair of slots",
    members=[*REQUIREMENT["members"], MEMBER],
    variants=[*REQUIREMENT["variants"], a_variant(OTHER_SLOT, "default", NORM)],
)
TWO_VARIANTS = changed(
    REQUIREMENT,
    variants=[
        a_variant(SLOT, "default", SMALL, BEYOND),
        a_variant(SLOT, "large", a_case(SLOT, "large", 64)),
    ],
)
QUORUM = changed(REQUIREMENT, quorum=2)
FINDING = {
    "rule": "CG301",
    "stage": "replay",
    "message": "out does not follow x",
    "file": "kernels/k.py",
    "line": 9,
}


def with_orders(*orders: Body, rank: int = 0) -> Body:
    return a_row(SMALL, ranks=[{"rank": rank, "orders": list(orders)}])


def order(name: str = "descending", **fields: object) -> Body:
    return changed(an_order(name), **fields)


OTHER = an_order("ascending")
FAILS: dict[str, Body] = {
    "applicability-differs-declined-by-a-fallback": a_row(
        SMALL, applicable=False, failure="not_applicable", ranks=[]
    ),
    "applicability-differs-class-alone": a_row(SMALL, failure="not_applicable"),
    "failed-eager": a_row(SMALL, failure="eager", stage="warmup"),
    "failed-capture": a_row(SMALL, failure="capture", stage="capture"),
    "failed-replay": a_row(SMALL, failure="replay", stage="replay", findings=[FINDING]),
    "failed-replay-though-it-says-none": with_orders(order(replays_passed=3), OTHER),
    "failed-replay-in-a-burst": with_orders(order(soak_passed=15), OTHER),
    "failed-replay-by-a-finding-alone": a_row(SMALL, findings=[FINDING]),
    "failed-replay-by-a-stage-alone": a_row(SMALL, stage="soak"),
    "failed-capture-by-a-host-node": a_row(SMALL, nodes={"kernel": 3, "host": 1}),
    "failed-capture-though-incomplete": a_row(
        SMALL, failure="capture", stage="capture", complete=False, infrastructure="the lease ended"
    ),
    "compilation-not-approved": a_row(SMALL, compilers=["nvrtc"]),
}
"""One row speaks against the candidate, the others pass."""
GAPS: dict[str, Body] = {
    "incomplete-the-machine-was-lost": a_row(SMALL, complete=False, infrastructure="lost"),
    "incomplete-without-a-cause": a_row(SMALL, complete=False),
    "incomplete-with-a-cause-alone": a_row(SMALL, infrastructure="lost"),
    "graph-differs": a_row(SMALL, graph_required=False),
    "rank-missing": a_row(SMALL, ranks=[]),
    "order-missing": with_orders(an_order("descending")),
    "stage-missing-perturbation": with_orders(
        order(stages=["load", "warmup", "eager", "capture", "replay", "soak"]), OTHER
    ),
    "replay-count-too-few": with_orders(order(replays_completed=3, replays_passed=3), OTHER),
    "replay-count-too-many": with_orders(order(replays_completed=5, replays_passed=5), OTHER),
    "replay-count-none": with_orders(order(replays_completed=0, replays_passed=0), OTHER),
    "soak-count": with_orders(order(soak_completed=15, soak_passed=15), OTHER),
    "probe-missing": a_row(SMALL, probes=[]),
    "row-incoherent-more-right-than-compared": with_orders(order(replays_passed=5), OTHER),
    "row-incoherent-one-order-twice": with_orders(an_order("descending"), order(), OTHER),
    "row-incoherent-rank-of-nobody": a_row(
        SMALL,
        ranks=[{"rank": n, "orders": [an_order("descending"), OTHER]} for n in (0, 1)],
    ),
}
"""One row leaves something open, the others pass."""


def entries() -> Iterator[Entry]:
    for name, row in FAILS.items():
        yield graded(f"fail-{name}", sent([row, *OTHERS]))
    for name, row in GAPS.items():
        yield graded(f"no-decision-{name}", sent([row, *OTHERS]))
    yield from _requirements()
    yield from _coverage()
    yield from _passes()
    yield from _observers()


def _requirements() -> Iterator[Entry]:
    answered = [a_row(BEYOND, applicable=True, failure="none")]
    yield graded(
        "fail-applicability-differs-answered-what-it-excludes",
        sent([a_row(SMALL), a_row(LARGE), *answered]),
    )
    missing = ["num_tokens has no case at its end 65536"]
    uncovered = changed(REQUIREMENT["variants"][0], covered=False, missing=missing)
    partial = changed(REQUIREMENT, variants=[uncovered])
    yield graded("fail-domain-not-covered", sent(requirement=partial))
    yield regraded("fail-domain-not-covered-before-anything-ran", _only(partial))
    declined = changed(REQUIREMENT, variants=[a_variant(SLOT, "default", BEYOND)])
    yield graded("fail-no-applicable-case", sent(requirement=declined))
    undeclared = changed(declined, variants=[changed(declined["variants"][0], graph_safe="unset")])
    yield graded("fail-no-applicable-case-graph-safe-unset", sent(requirement=undeclared))
    routed = changed(REQUIREMENT["variants"][0], graph_safe="false")
    contradicts = changed(REQUIREMENT, variants=[routed])
    yield regraded("no-decision-requirement-unsound-applies-undeclared", _only(contradicts))


def _only(requirement: Body) -> dict[str, bytes]:
    """A store that knows the requirement and no delivery."""
    data = canonical(requirement)
    return {"requirement.json": data, **stored([data], {})}


def _coverage() -> Iterator[Entry]:
    failing = a_row(LARGE, failure="replay", stage="replay")
    yield graded("no-decision-case-missing", sent([a_row(SMALL), a_row(BEYOND)]))
    yield graded("no-decision-case-missing-the-one-that-does-not-apply", sent(rows_of()[:2]))
    yield graded("fail-failed-replay-while-a-case-is-missing", sent([failing, a_row(BEYOND)]))
    yield graded("no-decision-variant-missing", sent(rows_of(TWO_VARIANTS)[:2], TWO_VARIANTS))
    yield graded("no-decision-member-missing", sent(rows_of(TWO_MEMBERS)[:3], TWO_MEMBERS))
    yield graded("no-decision-no-evidence-empty-delivery", sent([]))
    yield regraded("no-decision-no-evidence", _only(REQUIREMENT))


def _passes() -> Iterator[Entry]:
    yield graded("pass", sent())
    yield graded("pass-two-variants", sent(requirement=TWO_VARIANTS))
    yield graded("pass-two-members", sent(requirement=TWO_MEMBERS))
    eager = changed(REQUIREMENT, graph_required=False, replays=0, soak=0, probes=[])
    rows = [a_row(case, eager, graph_required=False) for case in (SMALL, LARGE, BEYOND)]
    yield graded("pass-no-graph-asked-for", sent(rows, eager))
    advice = FINDING | {"rule": "CG807", "stage": "load"}
    yield graded("pass-advice-is-no-finding", sent([a_row(SMALL, findings=[advice]), *OTHERS]))
    undeclared = changed(eager, variants=[changed(eager["variants"][0], graph_safe="unset")])
    rows = [a_row(case, undeclared, graph_required=False) for case in (SMALL, LARGE, BEYOND)]
    yield graded("pass-a-declaration-decides-nothing", sent(rows, undeclared))
    more = sent() | {"sent/notes.txt": b"not a record", "sent/verdict.json": b'{"verdict":"FAIL"}'}
    yield graded("pass-what-nobody-lists-changes-nothing", more)
    yield Entry("pass-taken-in-twice", (INTAKE, INTAKE, GRADE), sent())
    named = f"cacheon grade {digest(REQUIREMENT)} --store evidence --format json"
    yield Entry("pass-graded-again", (INTAKE, GRADE, named), sent())


def _observers() -> Iterator[Entry]:
    second = INTAKE.replace("sent/", "more/")
    both = (INTAKE, second, GRADE)
    agreeing = sent(requirement=QUORUM) | sent(requirement=QUORUM, lab=1, directory="more")
    yield Entry("pass-two-observers-agree", both, agreeing)
    yield graded("no-decision-quorum-one-of-two", sent(requirement=QUORUM))
    half = sent(rows_of(QUORUM, 1)[:2], QUORUM, 1, directory="more")
    yield Entry("no-decision-case-missing-from-one-of-two", both, sent(requirement=QUORUM) | half)
    failing = [a_row(SMALL, QUORUM, 1, failure="replay", stage="replay"), *rows_of(QUORUM, 1)[1:]]
    files = sent(requirement=QUORUM) | sent(failing, QUORUM, 1, directory="more")
    yield Entry("fail-failed-replay-seen-by-one-of-two", both, files)
    # Whoever hands in another's run under a key of its own has seen nothing.
    copied = sent(rows_of(QUORUM), QUORUM, 1, directory="more", said={"run": rows_of()[0]["run"]})
    yield Entry(
        "no-decision-quorum-one-run-under-two-keys", both, sent(requirement=QUORUM) | copied
    )
    yield Entry("pass-three-observers-one-asked", (INTAKE, second, _third(), GRADE), _three())
    payload = canonical(a_delivery([digest(row) for row in rows_of(QUORUM)], QUORUM))
    twice = sent(requirement=QUORUM, envelope=an_envelope(payload, 0, 0))
    yield graded("no-decision-quorum-two-signatures-of-one-key", twice)
    both_signed = sent(requirement=QUORUM, envelope=an_envelope(payload, 0, 1))
    yield graded("no-decision-quorum-one-run-signed-by-two", both_signed)
    pinned = changed(REQUIREMENT, quorum=2, observers=[{"key": KEYS[0], "name": "one"}] * 2)
    yield regraded("no-decision-requirement-unsound-one-key-pinned-twice", _only(pinned))


def _third() -> str:
    return INTAKE.replace("sent/", "third/")


def _three() -> dict[str, bytes]:
    return sent() | sent(lab=1, directory="more") | sent(lab=2, directory="third")
