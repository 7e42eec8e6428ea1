"""Stores with which somebody, or a crash, has tampered; and what grading makes of them."""

from collections.abc import Iterator

from tests.conformance.making.entry import (
    GRADE,
    INTAKE,
    Entry,
    Files,
    blob,
    delivery_of,
    regraded,
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
    SMALL,
    a_delivery,
    a_row,
    an_envelope,
    canonical,
    changed,
    digest,
    rows_of,
    sha256,
)

GOOD = taken_in()
ROW = digest(rows_of()[0])
BYTES = canonical(rows_of()[0])
FAILING = [a_row(SMALL, failure="replay", stage="replay"), a_row(LARGE), a_row(BEYOND)]
BY_NAME = f"cacheon grade {digest(REQUIREMENT)} --store evidence --format json"


def moved(place: str) -> Files:
    files = dict(GOOD)
    files["aside"] = files.pop(place)
    return files


def gone(files: Files, *places: str) -> Files:
    return {name: data for name, data in files.items() if name not in places}


def entries() -> Iterator[Entry]:
    yield from _blobs()
    yield from _deliveries()
    yield from _crashes()
    yield from _smuggled()
    yield from _index()


def _blobs() -> Iterator[Entry]:
    place = blob(ROW)
    what = "no-decision-observation-missing"
    yield regraded(f"{what}-deleted", gone(GOOD, place))
    yield regraded(f"{what}-half-written", GOOD | {place: BYTES[:50]})
    yield regraded(f"{what}-empty", GOOD | {place: b""})
    swapped = BYTES.replace(b'"none"', b'"NONE"')
    yield regraded(f"{what}-swapped-for-bytes-of-the-same-size", GOOD | {place: swapped})
    yield regraded(f"{what}-is-a-link", moved(place), f"link {place} ../../../aside")
    yield regraded(f"{what}-is-an-endless-device", moved(place), f"link {place} /dev/zero")
    yield regraded(f"{what}-is-a-fifo", moved(place), f"fifo {place}")
    yield regraded(f"{what}-is-a-directory", moved(place), f"directory {place}")
    yield regraded(f"{what}-has-a-second-name", moved(place), f"hardlink {place} aside")
    yield regraded(f"{what}-grown-beyond-the-limit", moved(place), f"zeros {place} 1048577")
    verdict = BYTES[:-1] + b',"verdict":"PASS"}'
    others = [a_row(LARGE), a_row(BEYOND)]
    yield regraded(f"{what}-with-a-verdict", taken_in([verdict, *others]))
    requirement = blob(digest(REQUIREMENT))
    lost = gone(GOOD, requirement, "requirement.json")
    yield Entry("no-decision-requirement-missing-deleted", (BY_NAME,), lost)
    half = lost | {requirement: canonical(REQUIREMENT)[:-9]}
    yield Entry("no-decision-requirement-missing-half-written", (BY_NAME,), half)
    unknown = f"cacheon grade {'0' * 64} --store evidence --format json"
    yield Entry("refused-requirement-unknown-at-grading", (unknown,), dict(GOOD))
    other = f"cacheon grade {ROW} --store evidence --format json"
    name = "refused-requirement-unknown-at-grading-for-an-observation"
    yield Entry(name, (other,), dict(GOOD))


def _deliveries() -> Iterator[Entry]:
    place = blob(delivery_of(GOOD))
    pointer = f"evidence/pointers/delivery/{digest(REQUIREMENT)}-{KEYS[0]}"
    what = "no-decision-delivery-missing"
    others = sent(lab=1) | gone(GOOD, place)
    yield Entry(f"{what}-deleted-though-another-passes", (INTAKE, GRADE), others)
    failing = sent([a_row(SMALL, lab=1, failure="eager", stage="eager")], lab=1)
    yield Entry("fail-failed-eager-while-a-delivery-is-missing", (INTAKE, GRADE), others | failing)
    for how, data in (
        ("garbage", b"garbage"),
        ("empty", b""),
        ("of-nothing-stored", b"0" * 64 + b"\n"),
        ("upper-case", digest(REQUIREMENT).upper().encode() + b"\n"),
    ):
        files = sent(lab=1) | GOOD | {pointer: data}
        yield Entry(f"{what}-pointer-{how}", (INTAKE, GRADE), files)
    # What failed is hidden behind the name of something else that lies there.
    failed = taken_in([changed(row, failure="replay") for row in rows_of(lab=1)], lab=1)
    of_failed = f"evidence/pointers/delivery/{_name(1)}"
    for how, named in (
        ("another-delivery", delivery_of(GOOD)),
        ("an-observation", ROW),
        ("the-requirement", digest(REQUIREMENT)),
    ):
        pointed = GOOD | failed | {of_failed: f"{named}\n".encode()}
        yield regraded(f"{what}-pointer-of-{how}", pointed)
    yield regraded("no-decision-no-evidence-delivery-deleted", gone(GOOD, place))
    yield regraded("no-decision-no-evidence-pointer-is-a-link", moved(pointer), _link(pointer))


def _link(place: str) -> str:
    return f"link {place} ../../../aside"


def _crashes() -> Iterator[Entry]:
    counts = f"evidence/pointers/delivery/{digest(REQUIREMENT)}-{KEYS[0]}"
    nonce = f"evidence/pointers/nonce/{REQUIREMENT['nonce']}-{KEYS[0]}"
    before = gone(GOOD, counts)
    yield regraded("no-decision-no-evidence-killed-before-the-commit", before)
    begun = {"requirement.json": canonical(REQUIREMENT)}
    begun["evidence/tmp/format.0123456789abcdef"] = b"cacheon-st"
    yield regraded("no-decision-no-evidence-killed-before-there-was-a-store", begun)
    yield Entry("pass-killed-before-there-was-a-store", (INTAKE, GRADE), sent() | begun)
    yield Entry("pass-killed-before-the-commit-and-repeated", (INTAKE, GRADE), sent() | before)
    earlier = gone(before, nonce)
    yield Entry("pass-killed-before-the-nonce-and-repeated", (INTAKE, GRADE), sent() | earlier)
    tmp = {f"evidence/tmp/{ROW}.0123456789abcdef": BYTES[:50]}
    yield regraded("pass-leftover-in-tmp", GOOD | tmp)
    stray = canonical({"schema": "cacheon/observation/1"})
    yield regraded("pass-unreached-blob", GOOD | {blob(sha256(stray)): stray})


def _smuggled() -> Iterator[Entry]:
    """Put into a store past the door, as if taken in."""
    others = [a_row(LARGE), a_row(BEYOND)]
    rehearsed = [a_row(case, backend="rehearsal") for case in (SMALL, LARGE, BEYOND)]
    yield regraded("no-decision-no-evidence-rehearsal-smuggled-in", taken_in(rehearsed))
    mixed = [a_row(SMALL, run=RUNS[1]), *others]
    yield regraded("no-decision-case-missing-row-of-another-run-smuggled-in", taken_in(mixed))
    replayed = [a_row(SMALL, nonce=sha256(b"earlier")), *others]
    yield regraded("no-decision-case-missing-earlier-row-smuggled-in", taken_in(replayed))
    yield regraded("no-decision-no-evidence-unsigned-smuggled-in", _committed(_unsigned()))
    stranger = _committed(an_envelope(canonical(_stranger()), 3), lab=3)
    yield regraded("no-decision-no-evidence-unpinned-key-smuggled-in", stranger)
    yield regraded(
        "pass-unpinned-key-smuggled-in-beside",
        GOOD | _committed(an_envelope(canonical(_stranger()), 3), lab=3),
    )
    later = [a_row(case, run=RUNS[1]) for case in (SMALL, LARGE, BEYOND)]
    twice = a_delivery([digest(row) for row in later], said={"run": RUNS[1]})
    for lab, name in (
        (3, "no-decision-delivered-twice-under-another-name"),
        (1, "no-decision-delivery-missing-a-second-one-of-another-under-its-name"),
    ):
        second = _committed(an_envelope(canonical(twice), 0), lab=lab)
        second |= {blob(digest(row)): canonical(row) for row in later}
        yield regraded(name, GOOD | second)
    failing = taken_in(FAILING)
    yield regraded(
        "fail-failed-replay-beside-a-smuggled-pass",
        failing
        | _committed(
            an_envelope(canonical(a_delivery([digest(row) for row in rows_of()])), 0), lab=1
        )
        | {blob(digest(row)): canonical(row) for row in rows_of()},
    )


def _unsigned() -> dict[str, object]:
    payload = canonical(a_delivery([digest(row) for row in rows_of()]))
    return an_envelope(payload, 1)


def _stranger() -> dict[str, object]:
    return a_delivery([digest(row) for row in rows_of()], said={"observer": KEYS[3]})


def _committed(envelope: dict[str, object], lab: int = 0) -> Files:
    data = canonical(envelope)
    files = gone(GOOD, blob(delivery_of(GOOD)), f"evidence/pointers/delivery/{_name(0)}")
    return files | stored([data], {f"delivery/{_name(lab)}": sha256(data)})


def _name(lab: int) -> str:
    return f"{digest(REQUIREMENT)}-{KEYS[lab]}"


def _index() -> Iterator[Entry]:
    for answer, files in (("pass", GOOD), ("fail-failed-replay", taken_in(FAILING))):
        yield regraded(
            f"{answer}-index-tampered-with", files | {"evidence/index.sqlite": b"PASS" * 64}
        )
