"""Bytes that are no record, behind a signature that is right: the gate must see them."""

from collections.abc import Iterator

from tests.conformance.making.entry import Entry, at_intake, sent
from tests.conformance.making.world import (
    BEYOND,
    LARGE,
    REQUIREMENT,
    SMALL,
    Body,
    a_row,
    canonical,
    changed,
    sha256,
    without,
)

ROW = a_row(SMALL)
GOOD = canonical(ROW)
OTHERS: list[Body] = [a_row(LARGE), a_row(BEYOND)]
COUNT = b'"replays_completed":4,'


def spelled(old: bytes, new: bytes) -> bytes:
    """The good observation with one place written otherwise."""
    if old not in GOOD:
        raise ValueError(f"not in the observation: {old!r}")
    return GOOD.replace(old, new, 1)


def counted(number: bytes) -> bytes:
    return spelled(COUNT, b'"replays_completed":%s,' % number)


SPELLINGS = {
    "duplicate-key": spelled(b'"failure":"none"', b'"failure":"replay","failure":"none"'),
    "duplicate-key-escaped": spelled(
        b'"failure":"none"', b'"\\u0066ailure":"replay","failure":"none"'
    ),
    "duplicate-key-nested": spelled(COUNT, b'"replays_completed":0,"replays_completed":4,'),
    "escaped-letter": spelled(b'"failure":"none"', b'"failure":"n\\u006fne"'),
    "escaped-solidus": spelled(b"cacheon/observation/1", b"cacheon\\/observation\\/1"),
    "keys-unsorted": b'{"stage":"",' + GOOD[1:].replace(b'"stage":"",', b"", 1),
    "space-inside": spelled(b'"stage":""', b'"stage": ""'),
    "space-before": b" " + GOOD,
    "line-feed-after": GOOD + b"\n",
    "negative-zero": counted(b"-0"),
}
"""Refused with `not-canonical`: another spelling of something that could be meant."""
NO_RECORDS: dict[str, bytes | Body] = {
    "wrong-type": changed(ROW, complete="true"),
    "boolean-as-integer": changed(ROW, complete=1),
    "integer-as-boolean": counted(b"true"),
    "integer-as-text": counted(b'"4"'),
    "null": changed(ROW, infrastructure=None),
    "missing-field": without(ROW, "infrastructure"),
    "missing-schema": without(ROW, "schema"),
    "wrong-schema": changed(ROW, schema="cacheon/observation/2"),
    "schema-of-another-kind": changed(ROW, schema="cacheon/grade/1"),
    "requirement-as-observation": REQUIREMENT,
    "unknown-field": changed(ROW, note=""),
    "unknown-field-nested": spelled(COUNT, COUNT + b'"seconds":1,'),
    "verdict": changed(ROW, verdict="PASS"),
    "aggregate-boolean": changed(ROW, all_cases_passed=True),
    "negative-count": counted(b"-4"),
    "integer-as-exponent": counted(b"4e0"),
    "integer-with-fraction": counted(b"4.0"),
    "nan": counted(b"NaN"),
    "negative-zero-with-fraction": counted(b"-0.0"),
    "infinity": counted(b"Infinity"),
    "one-and-400-zeros": counted(b"1e400"),
    "leading-zero": counted(b"04"),
    "leading-plus": counted(b"+4"),
    "hexadecimal": counted(b"0x4"),
    "5000-digits": counted(b"4" * 5000),
    "unknown-stage": changed(ROW, stage="verified"),
    "unknown-class": changed(ROW, failure="passed"),
    "unknown-backend": changed(ROW, backend="cuda-simulated"),
    "digest-upper-case": changed(ROW, bundle=ROW["bundle"].upper()),
    "digest-short": changed(ROW, bundle=ROW["bundle"][:-1]),
    "digest-of-another-algorithm": changed(ROW, bundle="sha512:" + ROW["bundle"]),
    "digest-with-line-feed": spelled(ROW["bundle"].encode(), ROW["bundle"].encode() + b"\\n"),
    "rule-lookalike": changed(
        ROW,
        findings=[{"rule": "CＧ203", "stage": "eager", "message": "", "file": "", "line": 0}],
    ),
    "invalid-utf-8": spelled(b'"infrastructure":""', b'"infrastructure":"\xff"'),
    "overlong-utf-8": spelled(b'"infrastructure":""', b'"infrastructure":"\xc0\xaf"'),
    "byte-order-mark": b"\xef\xbb\xbf" + GOOD,
    "utf-16": GOOD.decode().encode("utf-16-le"),
    "surrogate": spelled(b'"infrastructure":""', b'"infrastructure":"\\ud800"'),
    "raw-control-character": spelled(b'"infrastructure":""', b'"infrastructure":"\x01"'),
    "empty": b"",
    "half": GOOD[: len(GOOD) // 2],
    "two": GOOD + GOOD,
    "trailing-comma": GOOD[:-1] + b",}",
    "comment": GOOD[:-1] + b"/* */}",
    "single-quotes": GOOD.replace(b'"', b"'"),
    "list": b"[" + GOOD + b"]",
    "null-alone": b"null",
}
"""Refused with `not-a-record`."""
LOOKALIKE = "num_t\N{CYRILLIC SMALL LETTER O}kens"
OTHER_CODES: dict[str, bytes | Body] = {
    "control-character-escaped": spelled(b'"infrastructure":""', b'"infrastructure":"\\u0007"'),
    "control-character-delete": changed(ROW, infrastructure="\x7f"),
    "control-character-c1": changed(ROW, infrastructure="\x9b31m"),
    "large-integer": counted(b"9007199254740992"),
    "key-lookalike": changed(ROW, nodes={LOOKALIKE: 1}),
    "too-deep-lists": spelled(b'"findings":[]', b'"findings":' + b"[" * 20_000 + b"]" * 20_000),
    "too-deep-objects": spelled(b'{"kernel":3}', b'{"a":' * 40 + b"3" + b"}" * 40),
}
"""Refused with the code that the name begins with."""


def entries() -> Iterator[Entry]:
    for code, found in (("not-canonical-", SPELLINGS), ("not-a-record-", NO_RECORDS)):
        for what, row in found.items():
            yield at_intake(f"refused-{code}{what}", sent([row, *OTHERS]))
    for what, row in OTHER_CODES.items():
        yield at_intake(f"refused-{what}", sent([row, *OTHERS]))
    yield _oversize()


def _oversize() -> Entry:
    """One byte more than an observation may have; git need not keep them."""
    size = (1 << 20) + 1
    name = sha256(bytes(size))
    files = sent([bytes(size)])
    del files[f"sent/{name}.json"]
    return at_intake("refused-too-large-observation", files, f"zeros sent/{name}.json {size}")
