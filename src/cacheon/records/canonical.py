"""Canonical bytes: one spelling for every record, and a gate that lets in no other.

Sorted keys, no white space, no floats, integers within ±(2^53 − 1), ASCII keys: there RFC
8785 and msgspec's sorted encoder agree.
"""

import re
from typing import Any, TypeVar

import msgspec

from cacheon.records.errors import RecordRefused

T = TypeVar("T")

LIMIT = 1 << 20
"""Bytes of one record, unless the caller says otherwise."""
DEEPEST = 32
"""Brackets that may be open at once: deeper ones cost a parser its stack."""
LARGEST = (1 << 53) - 1

_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")
_BRACES = bytes.maketrans(b"[]", b"{}")
_OPEN = ord("{")
_ESCAPE = re.compile(rb'\\[^"\\]')
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_INEXACT = (b"0.", b"0e", b"0E", b"0" * 16)
"""What a float and a long integer have in them, every digit made a zero."""
_ENCODER = msgspec.json.Encoder(order="sorted")


def encode(record: object, *, source: str = "") -> bytes:
    """The canonical bytes of a record. Raises RecordRefused for a float or an integer
    that JSON readers do not agree on."""
    _refuse_inexact(msgspec.to_builtins(record), source)
    return _ENCODER.encode(record)


def decode(data: bytes, kind: type[T], *, limit: int = LIMIT, source: str = "") -> T:
    """A record of `kind` from its canonical bytes.

    1. Not more than `limit` bytes. 2. Brackets not deeper than anybody needs, seen before
    anything is parsed. 3. Decoded strictly into the type. 4. Encoding the result gives
    these very bytes back: no duplicate key, other spelling of a number, mark or white
    space gets through. Raises RecordRefused; what the record says is the caller's to check."""
    if len(data) > limit:
        raise RecordRefused(
            "too-large", file=source, expected=f"at most {limit} bytes", got=f"{len(data)}"
        )
    bare = _outside_strings(data)
    if _depth(bare) > DEEPEST:
        raise RecordRefused(
            "too-deep", file=source, expected=f"at most {DEEPEST} open brackets", got="more"
        )
    try:
        record = msgspec.json.decode(data, type=kind, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordRefused(
            "not-a-record",
            file=source,
            expected=f"a {getattr(kind, '__name__', kind)}",
            got=str(error),
        ) from error
    encoded = _ENCODER.encode(record) if _shows_exact(data, bare) else encode(record, source=source)
    if encoded != data:
        raise RecordRefused(
            "not-canonical", file=source, expected="canonical bytes", got="another spelling"
        )
    return record


def _outside_strings(data: bytes) -> bytes:
    """Everything outside strings: linear in the size whatever the bytes are. Where they are
    no JSON it means nothing, and the decoder refuses them."""
    if b"\\" in data:
        # With escaped pairs gone, every quote that is left opens or closes a string.
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(data.split(b'"')[::2])


def _depth(bare: bytes) -> int:
    """How deep brackets nest, counted no further than one beyond DEEPEST."""
    brackets = bare.translate(_BRACES, _NO_BRACKET)
    left = brackets
    for depth in range(DEEPEST + 1):
        if not left:
            return depth
        # Every innermost pair, and no other: one level.
        left = left.replace(b"{}", b"")
    # Deeper, or unbalanced and no JSON: counted bracket by bracket.
    depth = deepest = 0
    for byte in brackets:
        depth += 1 if byte == _OPEN else -1
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            break
    return deepest


def _shows_exact(data: bytes, bare: bytes) -> bool:
    """Whether the bytes themselves show that nothing in them is inexact, so that the record
    need not be walked: no control character, no float, no long integer, ASCII alone. False
    says nothing. Only for bytes that were decoded: NaN would be spelled `null`."""
    if not data.isascii() or b"\x7f" in data:
        return False
    if b"\\" in data and _ESCAPE.search(data):
        return False
    zeros = bare.translate(_ZEROS)
    return not any(part in zeros for part in _INEXACT)


def _refuse_inexact(value: Any, file: str) -> None:
    match value:
        case str():
            if not _plain(value):
                got = ascii(value)[:80]
                raise RecordRefused(
                    "control-character", file=file, expected="printable text", got=got
                )
        case bool() | None:
            pass
        case int():
            if abs(value) > LARGEST:
                raise RecordRefused(
                    "large-integer",
                    file=file,
                    expected="an integer within ±(2^53 − 1)",
                    got="a larger one",
                )
        case float():
            raise RecordRefused("float", file=file, expected="an integer or text", got="a float")
        case dict():
            for key, item in value.items():
                if not str(key).isascii():
                    got = ascii(key)[:80]
                    raise RecordRefused("key", file=file, expected="an ASCII key", got=got)
                _refuse_inexact(key, file)
                _refuse_inexact(item, file)
        case _:  # msgspec leaves lists and tuples, nothing else
            for item in value:
                _refuse_inexact(item, file)


def _plain(text: str) -> bool:
    """No control character and no lone surrogate: either would have two spellings."""
    # What is printable is neither; few texts are not, and those are looked at.
    return text.isprintable() or not any(
        ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in text
    )
