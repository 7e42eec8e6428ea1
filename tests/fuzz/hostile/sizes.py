"""What is too much: bytes, brackets, and what only looks like either."""

from tests.fuzz.hostile.small import GOOD, LIMIT, changed, noted, rows, valued

SIZES = [
    *rows(
        "too-large",
        {
            "one byte more than may be": GOOD + b" " * (LIMIT - len(GOOD) + 1),
            "spaces alone": b" " * (LIMIT + 1),
            "a long text": noted("x" * LIMIT),
            "a long number": valued("9" * LIMIT),
            "many fields": valued("7" + ',"count":7' * LIMIT),
            "deep and large": b"[" * (LIMIT + 1),
        },
    ),
    *rows(
        "too-deep",
        {
            "lists without end": b"[" * LIMIT,
            "objects without end": b'{"a":' * (LIMIT // 5),
            "both in turn": b'[{"a":' * (LIMIT // 6),
            "one level too many": b"[" * 33 + b"]" * 33,
            "one level too many of objects": b'{"a":' * 33 + b"7" + b"}" * 33,
            "deep in a value": valued("[" * 32 + "]" * 32),
            "deep in an unknown field": changed(
                '"count":7', '"x":' + "[" * 40 + "]" * 40 + ',"count":7'
            ),
            "deep and unbalanced": b"[" * 33,
            "deep between quotes that are escaped": b'"\\\\"' + b"[" * 33,
            "deep behind a text": GOOD + b"[" * 33,
        },
    ),
    *rows(
        "not-a-record",
        {
            "as deep as may be": b"[" * 32 + b"]" * 32,
            "closed and never opened": b"]" * LIMIT,
            "quotes alone": b'"' * LIMIT,
            "backslashes alone": b"\\" * LIMIT,
            "a text of brackets that never ends": b'"' + b"[" * 4000,
            "broken at the very limit": b"[" + b" " * (LIMIT - 1),
        },
    ),
]
