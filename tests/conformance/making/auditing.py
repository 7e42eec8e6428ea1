"""Published grades held against their evidence and a log; exports; the health of stores."""

import hashlib
from collections.abc import Iterator, Sequence

from tests.conformance.making.entry import Entry, Files, blob, delivery_of, stored, taken_in
from tests.conformance.making.world import (
    BEYOND,
    KEYS,
    LARGE,
    REQUIREMENT,
    SIGNERS,
    SMALL,
    Body,
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
CHECKPOINT_TYPE = "application/vnd.cacheon.checkpoint+json"
ORIGIN, LOG_KEY = "lab.example/log", 3
SECRET = b"ed25519-secret:%s\n" % bytes(SIGNERS[LOG_KEY]).hex().encode()


def a_grade(files: Files = GOOD, rows: Sequence[Body] | None = None, **fields: object) -> Body:
    """The grade of a delivery that was taken in: a PASS, unless it is said otherwise."""
    seen = rows_of() if rows is None else rows
    body = {
        "schema": "cacheon/grade/1",
        "requirement": digest(REQUIREMENT),
        "decision": "PASS",
        "reasons": [a_reason("every-case-shown")],
        "set_aside": [],
        "deliveries": [delivery_of(files)],
        "observations": sorted(map(digest, seen)),
        "policy": REQUIREMENT["policy"],
        "grader": "0.0.1",
        "grader_digest": sha256(b"an older grader"),
    }
    return changed(body, **fields)


def a_reason(code: str, **fields: str) -> Body:
    return {"code": code, "slot": "", "variant": "", "case": "", "observer": "", "detail": ""} | (
        fields
    )


def published(grade: Body, files: Files = GOOD) -> Files:
    data = canonical(grade)
    return files | stored([data], {f"grade/{digest(REQUIREMENT)}-{sha256(data)}": sha256(data)})


def audited(name: str, grade: Body, files: Files, more: str = "", *make: str) -> Entry:
    command = f"cacheon audit {digest(grade)} --store evidence --format json{more}"
    return Entry(name, (command,), files, make)


def entries() -> Iterator[Entry]:
    yield from _audits()
    yield from _logs()
    yield from _exports()
    yield from _health()


def _audits() -> Iterator[Entry]:
    grade = a_grade()
    yield audited("same-under-an-older-grader", grade, published(grade))
    failing = [a_row(SMALL, failure="eager", stage="load"), a_row(LARGE), a_row(BEYOND)]
    taken = taken_in(failing)
    reason = a_reason(
        "failed-eager",
        slot=SMALL["descriptor"]["slot"],
        variant="default",
        case=SMALL["case"],
        observer=KEYS[0],
        detail="stage load",
    )
    failed = a_grade(taken, failing, decision="FAIL", reasons=[reason])
    yield audited("same-failure", failed, published(failed, taken))
    forged = a_grade(taken, failing)
    yield audited("differs-pass-over-a-failing-row", forged, published(forged, taken))
    hidden = a_grade(deliveries=[], observations=[])
    yield audited("differs-pass-that-rests-on-nothing", hidden, published(hidden))
    other = a_grade(reasons=[a_reason("every-case-shown", detail="and more")])
    yield audited("differs-in-a-reason", other, published(other))
    for what, fields in (
        ("observations", {"observations": []}),
        ("deliveries", {"deliveries": sorted([delivery_of(GOOD), ROW])}),
        ("policy", {"policy__version": 9}),
    ):
        named = a_grade(**fields)
        yield audited(f"differs-in-the-{what}-that-it-names", named, published(named))
    yield from _left_out()
    nobody = a_grade(decision="NO_DECISION", reasons=[a_reason("no-evidence")])
    yield audited("differs-no-decision-over-a-pass", nobody, published(nobody))
    files = published(grade)
    for what, named in (
        ("observation", ROW),
        ("delivery", delivery_of(GOOD)),
        ("requirement", digest(REQUIREMENT)),
    ):
        place = blob(named)
        rest = {name: data for name, data in files.items() if name != place}
        yield audited(f"lost-{what}-deleted", grade, rest)
        yield audited(f"lost-{what}-swapped", grade, files | {place: b"{}"})
    yield audited("refused-not-a-record-audit-of-a-requirement", REQUIREMENT, files)


def _left_out() -> Iterator[Entry]:
    """A grade that names one of two deliveries that were taken in."""
    grade = a_grade()
    rows = {"failing": {"failure": "replay", "stage": "replay"}, "incomplete": {"complete": False}}
    for what, fields in rows.items():
        first, *rest = rows_of(lab=1)
        other = taken_in([changed(first, **fields), *rest], lab=1)
        name = f"differs-pass-that-leaves-out-a-delivery-that-is-{what}"
        yield audited(name, grade, published(grade, GOOD | other))
    another = taken_in(rows_of(lab=1), lab=1)
    lost = {name: data for name, data in another.items() if name != blob(digest(first))}
    name = "differs-pass-that-leaves-out-a-delivery-that-lost-a-row"
    yield audited(name, grade, published(grade, GOOD | lost))
    name = "same-though-another-delivery-passes-too"
    yield audited(name, grade, published(grade, GOOD | another))


# --- the log -----------------------------------------------------------------------------------


def an_entry(kind: str, named: str) -> bytes:
    return canonical({"schema": "cacheon/log-entry/1", "kind": kind, "digest": named})


def root_of(lines: Sequence[bytes]) -> str:
    """The root of the lines as leaves, as RFC 6962 defines it."""
    return _root([hashlib.sha256(b"\0" + line).digest() for line in lines]).hex()


def _root(hashes: list[bytes]) -> bytes:
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    split = 1 << (len(hashes) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + _root(hashes[:split]) + _root(hashes[split:])).digest()


def a_checkpoint(lines: Sequence[bytes], lab: int = LOG_KEY, origin: str = ORIGIN) -> bytes:
    body = {
        "schema": "cacheon/checkpoint/1",
        "origin": origin,
        "size": len(lines),
        "root": root_of(lines),
    }
    payload = canonical(body)
    return canonical(an_envelope(payload, lab, payload_type=CHECKPOINT_TYPE))


def a_log(lines: Sequence[bytes], *checkpoints: bytes) -> Files:
    return {
        "log/entries": b"".join(line + b"\n" for line in lines),
        "log/checkpoints": b"".join(line + b"\n" for line in checkpoints),
    }


def _logs() -> Iterator[Entry]:
    grade = a_grade()
    files = published(grade)
    one, two = an_entry("requirement", digest(REQUIREMENT)), an_entry("grade", digest(grade))
    stranger = an_entry("grade", sha256(b"a grade that was deleted"))
    lines = [one, two]
    key = f" --log-key {ORIGIN}={KEYS[LOG_KEY]}"
    follow = f" --log log{key}"
    since = f"{follow} --since kept.json"
    kept = {"kept.json": a_checkpoint([one])}
    whole = files | a_log(lines, a_checkpoint([one]), a_checkpoint(lines)) | kept
    yield audited("same-and-in-the-log", grade, whole, since)
    only = files | a_log(lines, a_checkpoint([one]))
    yield audited("uncovered-after-the-last-checkpoint", grade, only, follow)
    none = files | a_log([one], a_checkpoint([one]))
    yield audited("uncovered-not-listed", grade, none, follow)
    verify = f"cacheon log verify log{key} --format json"
    yield Entry("fits", (f"{verify} --since kept.json --store evidence",), whole)
    deleted = files | a_log([*lines, stranger], a_checkpoint([*lines, stranger]))
    yield Entry("deleted-evidence-that-is-listed", (f"{verify} --store evidence",), deleted)
    other = whole | {blob(digest(grade)): b"{}"}
    yield Entry("deleted-other-bytes-in-its-place", (f"{verify} --store evidence",), other)
    shrunk = a_log([one], a_checkpoint(lines))
    yield Entry("contradicted-log-shrunk", (verify,), shrunk)
    forked = a_log([two, one], a_checkpoint(lines))
    yield Entry("contradicted-log-forked-entries-swapped", (verify,), forked)
    order = a_log(lines, a_checkpoint(lines), a_checkpoint([one]))
    yield Entry("contradicted-log-order", (verify,), order)
    anew = a_log([two, one], a_checkpoint([two, one])) | kept
    yield Entry("contradicted-log-forked-and-signed-anew", (f"{verify} --since kept.json",), anew)
    wiped = a_log([two], a_checkpoint([two])) | {"kept.json": a_checkpoint(lines)}
    yield Entry("contradicted-log-shrunk-and-signed-anew", (f"{verify} --since kept.json",), wiped)
    yield Entry("refused-unsigned-log-without-a-checkpoint", (verify,), a_log(lines))
    other = a_log(lines, a_checkpoint(lines, lab=0))
    yield Entry("refused-unsigned-log-of-another-key", (verify,), other)
    named = a_log(lines, a_checkpoint(lines, origin="elsewhere"))
    yield Entry("refused-log-origin-of-another-log", (verify,), named)
    spelled = a_log([one.replace(b":", b": ", 1)], a_checkpoint([one]))
    yield Entry("refused-not-canonical-log-entry", (verify,), spelled)


# --- exports and health ------------------------------------------------------------------------


def _exports() -> Iterator[Entry]:
    key = {"signer.key": SECRET}
    grade = a_grade()
    yield _export("exported-a-pass", grade, published(grade) | key)
    forged = a_grade(decision="FAIL")
    yield _export("unexported-what-the-evidence-does-not-bear-out", forged, published(forged) | key)
    nothing = a_grade(decision="NO_DECISION", reasons=[a_reason("no-evidence")])
    yield _export("unexported-no-decision", nothing, published(nothing) | key)
    first, *rest = rows_of(lab=1)
    failing = GOOD | taken_in([changed(first, failure="replay"), *rest], lab=1)
    name = "unexported-pass-that-leaves-out-a-delivery-that-is-failing"
    yield _export(name, grade, published(grade, failing) | key)
    lost = {name: data for name, data in published(grade).items() if name != blob(ROW)}
    yield _export("unexported-evidence-deleted", grade, lost | key)
    exposed = _export("refused-key-exposed", grade, published(grade) | key)
    yield exposed._replace(make=("mode signer.key 644",))
    spoilt = {"signer.key": KEYS[0].encode()}
    yield _export("refused-key-file-of-a-public-key", grade, published(grade) | spoilt)
    yield Entry("refused-key-exists", ("cacheon keys new signer.key",), key)


def _export(name: str, grade: Body, files: Files) -> Entry:
    words = "--store evidence --key signer.key --output out.jsonl --format json"
    return Entry(
        name, (f"cacheon export {digest(grade)} {words}",), files, ("mode signer.key 600",)
    )


def _health() -> Iterator[Entry]:
    check = ("cacheon fsck evidence --format json",)
    yield Entry("sound", check, GOOD)
    orphan = canonical({"schema": "cacheon/observation/1"})
    left = {blob(sha256(orphan)): orphan, "evidence/tmp/spare": b""}
    yield Entry("sound-with-what-a-crash-leaves", check, GOOD | left)
    yield Entry("sound-empty-where-making-it-was-interrupted", check, {}, ("directory evidence",))
    begun = {"evidence/tmp/format.0123456789abcdef": b"cacheon-st"}
    yield Entry("sound-unfinished-where-making-it-was-interrupted", check, begun)
    place = blob(ROW)
    aside = {name: data for name, data in GOOD.items() if name != place}
    yield Entry("damaged-record-deleted", check, aside)
    yield Entry("damaged-record-swapped", check, GOOD | {place: b"{}"})
    yield Entry("damaged-record-half-written", check, GOOD | {place: b'{"schema'})
    row = {"aside": GOOD[place]}
    yield Entry("damaged-link", check, aside | row, (f"link {place} ../../../aside",))
    yield Entry("damaged-second-name", check, aside | row, (f"hardlink {place} aside",))
    yield Entry("damaged-fifo", check, aside, (f"fifo {place}",))
    yield Entry("damaged-stray-file", check, GOOD | {"evidence/blobs/notes": b""})
    pointer = f"evidence/pointers/delivery/{digest(REQUIREMENT)}-{KEYS[0]}"
    yield Entry("refused-not-a-store", check, {"evidence/notes": b""})
    yield Entry("damaged-pointer", check, GOOD | {pointer: b"garbage"})
