"""Records that are sound and do not belong here: replayed, mixed, left out, invented."""

from collections.abc import Iterator

from tests.conformance.making.entry import (
    GRADE,
    INTAKE,
    Entry,
    at_intake,
    blob,
    sent,
    stored,
    taken_in,
)
from tests.conformance.making.world import (
    BEYOND,
    KEYS,
    LARGE,
    REQUIREMENT,
    RUNS,
    SLOT,
    SMALL,
    Body,
    a_case,
    a_row,
    a_variant,
    an_envelope,
    canonical,
    changed,
    digest,
    rows_of,
    sha256,
)

ANOTHER = sha256(b"another")
LATER = changed(REQUIREMENT, nonce=sha256(b"a later nonce"))
OTHERS = [a_row(LARGE), a_row(BEYOND)]
LOOKALIKE = changed(SMALL["descriptor"], slot=SLOT.replace("a", "\N{CYRILLIC SMALL LETTER A}", 1))
UNREQUIRED = a_case(SLOT, "default", 2)

ROWS: dict[str, Body] = {
    "other-requirement-in-an-observation": a_row(SMALL, LATER, nonce=REQUIREMENT["nonce"]),
    "other-nonce-in-an-observation": a_row(SMALL, nonce=LATER["nonce"]),
    "other-run-in-an-observation": a_row(SMALL, run=RUNS[1]),
    "other-launch-in-an-observation": a_row(SMALL, launch=ANOTHER),
    "other-bundle-in-an-observation": a_row(SMALL, bundle=ANOTHER),
    "not-required-case": a_row(UNREQUIRED),
    "other-case-descriptor-of-another": a_row(SMALL, descriptor=LARGE["descriptor"]),
    "other-case-slot-lookalike": a_row(SMALL, descriptor=LOOKALIKE),
    "rehearsal-on-a-cpu": a_row(SMALL, backend="rehearsal"),
    "isolation-inline": a_row(SMALL, isolation="inline"),
}
"""One observation that is not bound, among others that are."""
DELIVERIES: dict[str, Body] = {
    "other-requirement": {"requirement": ANOTHER},
    "other-nonce": {"nonce": ANOTHER},
    "other-launch": {"launch": ANOTHER},
    "other-run": {"run": RUNS[1]},
    "not-a-record-delivery-with-a-verdict": {"verdict": "PASS"},
    "not-a-record-delivery-that-passed": {"passed": True},
    "not-a-record-delivery-of-another-version": {"schema": "cacheon/delivery/2"},
    "not-a-record-path-for-a-digest": {"observations": ["../../requirement.json"]},
    "not-a-record-absolute-path-for-a-digest": {"observations": ["/dev/zero"]},
    "not-sorted": {"observations": sorted(map(digest, rows_of()), reverse=True)},
    "not-sorted-one-twice": {"observations": [digest(rows_of()[0])] * 2},
    "missing-observation": {"observations": [ANOTHER]},
}
"""Fields of the delivery, changed before it was signed."""


def entries() -> Iterator[Entry]:
    for name, row in ROWS.items():
        yield at_intake(f"refused-{name}", sent([row, *OTHERS]))
    for name, fields in DELIVERIES.items():
        yield at_intake(f"refused-{name}-in-the-delivery", sent(said=fields))
    yield from _lists()
    yield from _requirements()
    yield from _nonces()


def _lists() -> Iterator[Entry]:
    again = a_row(SMALL, max_abs="0x1.0p-6")
    two = [a_row(SMALL), again, a_row(LARGE)]
    yield at_intake("refused-duplicate-case-two-rows-of-one", sent(two))
    yield at_intake("refused-too-many-observations", sent([*rows_of(), again]))


def _requirements() -> Iterator[Entry]:
    unsound = changed(REQUIREMENT, quorum=9)
    yield at_intake("refused-requirement-unsound-quorum-of-nobody", sent(requirement=unsound))
    files = sent()
    command = f"cacheon intake sent/delivery.json --requirement {digest(REQUIREMENT)}"
    yield Entry("refused-requirement-unknown", (f"{command} --store evidence",), files)
    command = f"cacheon intake {ANOTHER.upper()} --requirement requirement.json --store evidence"
    yield Entry("refused-missing-delivery-by-an-upper-case-digest", (command,), files)
    older = changed(REQUIREMENT, policy__version=1)
    command = f"{INTAKE} --minimum h200-decode=2"
    yield Entry("refused-policy-older-than-asked-for", (command,), sent(requirement=older))
    files = {**sent(requirement=older), "newer.json": canonical(LATER)}
    files |= stored([canonical(LATER)], {f"requirement/{digest(LATER)}": digest(LATER)})
    remembered = _minimum("h200-decode", 2)
    files |= {blob(sha256(remembered)): remembered}
    pointer = f"minimum/{sha256(b'h200-decode')}-{sha256(remembered)}"
    files |= {f"evidence/pointers/{pointer}": f"{sha256(remembered)}\n".encode()}
    yield at_intake("refused-policy-older-than-remembered", files)
    files = taken_in(requirement=older) | {blob(sha256(remembered)): remembered}
    files |= {f"evidence/pointers/{pointer}": f"{sha256(remembered)}\n".encode()}
    yield Entry("refused-policy-older-at-grading", (GRADE,), files)


def _minimum(arena: str, version: int) -> bytes:
    return canonical({"schema": "cacheon/minimum/1", "arena": arena, "version": version})


def _nonces() -> Iterator[Entry]:
    second = [a_row(case, run=RUNS[1]) for case in (SMALL, LARGE, BEYOND)]
    files = sent() | sent(second, directory="again", said={"run": RUNS[1]})
    again = INTAKE.replace("sent/", "again/")
    yield Entry("refused-nonce-spent-second-delivery", (INTAKE, again), files)
    # The key spent it on a delivery for another requirement that has the same nonce.
    twin = changed(REQUIREMENT, replays=5, variants=[a_variant(SLOT, "default", SMALL)])
    envelope = an_envelope(b"{}", 0)
    files = sent(requirement=twin)
    files |= stored([canonical(envelope)], {f"nonce/{twin['nonce']}-{KEYS[0]}": digest(envelope)})
    yield at_intake("refused-nonce-spent-under-another-requirement", files)
