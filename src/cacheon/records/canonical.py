"""Canonical bytes: one spelling for every record, and a gate that lets in no other.

Sorted keys, no white space, no floats, integers within ±(2^53 − 1), ASCII keys: there RFC
8785 and msgspec's sorted encoder agree.
"""

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
_ENCODER = msgspec.json.Encoder(order="sorted")


def encode(record: object) -> bytes:
    """The canonical bytes of a record. Raises RecordRefused for a float or an integer
    that JSON readers do not agree on."""
    _refuse_inexact(msgspec.to_builtins(record))
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
    if _depth(data) > DEEPEST:
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
    if encode(record) != data:
        raise RecordRefused(
            "not-canonical", file=source, expected="canonical bytes", got="another spelling"
        )
    return record


def _depth(data: bytes) -> int:
    """How deep brackets outside strings nest, counted no further than one beyond DEEPEST.

    Linear in the size whatever the bytes are; where they are no JSON the number means
    nothing, and the decoder refuses them next."""
    # With escaped pairs gone, every quote that is left opens or closes a string.
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(bare.split(b'"')[::2]).translate(None, _NO_BRACKET)
    depth = deepest = 0
    for byte in brackets:
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            break
    return deepest


def _refuse_inexact(value: Any) -> None:
    match value:
        case bool() | None | str():
            if isinstance(value, str) and not _plain(value):
                raise RecordRefused(
                    "control-character", expected="printable text", got=ascii(value)[:80]
                )
        case int():
            if abs(value) > LARGEST:
                raise RecordRefused(
                    "large-integer", expected="an integer within ±(2^53 − 1)", got="a larger one"
                )
        case float():
            raise RecordRefused("float", expected="an integer or text", got="a float")
        case dict():
            for key, item in value.items():
                if not str(key).isascii():
                    raise RecordRefused("key", expected="an ASCII key", got=ascii(key)[:80])
                _refuse_inexact(key)
                _refuse_inexact(item)
        case _:  # msgspec leaves lists and tuples, nothing else
            for item in value:
                _refuse_inexact(item)


def _plain(text: str) -> bool:
    """No control character and no lone surrogate: either would have two spellings."""
    return not any(
        ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in text
    )
