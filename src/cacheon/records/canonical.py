"""Canonical bytes: one spelling for every record, and a gate that lets in no other.

Sorted keys, no white space, no floats, integers within ±(2^53 − 1), ASCII keys: there RFC
8785 and msgspec's sorted encoder agree.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from cacheon.records.errors import RecordRefused
from cacheon.records.strict import Record, is_plain

T = TypeVar("T")

LIMIT = 1 << 20
"""Bytes of one record, unless the caller says otherwise."""
DEEPEST = 32
"""Brackets that may be open at once: deeper ones cost a parser its stack."""
LARGEST = (1 << 53) - 1

_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")
_BRACES = bytes.maketrans(b"[]", b"{}")
_OPEN, _BACKSLASH, _DELETE = b"{\\\x7f"
_ESCAPE = re.compile(rb'\\[^"\\]')
_NUMBERS = bytes.maketrans(b"123456789,[-", b"0" * 9 + b":::")
_LONG = b":" + b"0" * 16
"""How a long integer in a record begins, once `_NUMBERS` made every digit a zero, and what may
stand before a number a colon."""
_ENCODER = msgspec.json.Encoder(order="sorted")


def encode(record: object, *, source: str = "") -> bytes:
    """The canonical bytes of a record. Raises RecordRefused for a float or an integer
    that JSON readers do not agree on."""
    _refuse_inexact(msgspec.to_builtins(record), source)
    return _ENCODER.encode(record)


def respell(record: object) -> bytes:
    """The canonical bytes of a record that has some already, or of a part of it: what came
    through `decode` or `encode` holds nothing inexact, and is not walked again."""
    return _ENCODER.encode(record)


def decode(data: bytes, kind: type[T], *, limit: int = LIMIT, source: str = "") -> T:
    """A record of `kind` from its canonical bytes.

    1. Not more than `limit` bytes. 2. Brackets not deeper than anybody needs: where the type
    does not show how deep they may nest, seen before anything is parsed. 3. Decoded strictly
    into the type. 4. Encoding the result gives these very bytes back: no duplicate key, other
    spelling of a number, mark or white space gets through. Raises RecordRefused; what the
    record says is the caller's to check."""
    if len(data) > limit:
        raise RecordRefused(
            "too-large", file=source, expected=f"at most {limit} bytes", got=f"{len(data)}"
        )
    decoder, shown = _decoder(kind)
    if not shown:
        _refuse_deep(data, source)
    try:
        record: T = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse_deep(data, source)
        raise RecordRefused(
            "not-a-record",
            file=source,
            expected=f"a {getattr(kind, '__name__', kind)}",
            got=str(error),
        ) from error
    exact = shown and _shows_exact(data)
    encoded = respell(record) if exact else encode(record, source=source)
    if encoded != data:
        raise RecordRefused(
            "not-canonical", file=source, expected="canonical bytes", got="another spelling"
        )
    return record


def _made(kind: Any) -> tuple[msgspec.json.Decoder[Any], bool]:
    """A type's decoder, and whether the type is a record that shows what is decoded as it:
    nothing deeper than DEEPEST, and no float."""
    record = isinstance(kind, type) and issubclass(kind, Record)
    return msgspec.json.Decoder(kind, strict=True), record and is_plain(kind, DEEPEST)


_decoder: Callable[[Any], tuple[msgspec.json.Decoder[Any], bool]] = functools.cache(_made)


def _refuse_deep(data: bytes, source: str) -> None:
    if _depth(_outside_strings(data)) > DEEPEST:
        raise RecordRefused(
            "too-deep", file=source, expected=f"at most {DEEPEST} open brackets", got="more"
        )


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


def _shows_exact(data: bytes) -> bool:
    """Whether the bytes of a record without floats show that nothing in them is inexact, so
    that it need not be walked: no control character, no long integer, ASCII alone. False says
    nothing."""
    # Bytes are asked for by number: by a text of one byte, Python tries that first and fails.
    if not data.isascii() or _DELETE in data:
        return False
    if _BACKSLASH in data and _ESCAPE.search(data):
        return False
    return data.translate(_NUMBERS).find(_LONG) < 0


def _refuse_inexact(value: Any, file: str) -> None:
    # By exact types, of which msgspec leaves no subclass: cases are walked by the ten thousand.
    kind = type(value)
    if kind is str:
        if not _plain(value):
            got = ascii(value)[:80]
            raise RecordRefused("control-character", file=file, expected="printable text", got=got)
    elif kind is dict:
        for key, item in value.items():
            if not (type(key) is str and key.isascii() and key.isprintable()):
                _refuse_key(key, file)
            if not (type(item) is str and item.isprintable()):
                _refuse_inexact(item, file)
    elif kind is int:
        if abs(value) > LARGEST:
            raise RecordRefused(
                "large-integer",
                file=file,
                expected="an integer within ±(2^53 − 1)",
                got="a larger one",
            )
    elif kind is float:
        raise RecordRefused("float", file=file, expected="an integer or text", got="a float")
    elif value is not None and kind is not bool:  # msgspec leaves lists and tuples, nothing else
        for item in value:
            _refuse_inexact(item, file)


def _refuse_key(key: Any, file: str) -> None:
    if not str(key).isascii():
        raise RecordRefused("key", file=file, expected="an ASCII key", got=ascii(key)[:80])
    _refuse_inexact(key, file)


def _plain(text: str) -> bool:
    """No control character and no lone surrogate: either would have two spellings."""
    # What is printable is neither; few texts are not, and those are looked at.
    return text.isprintable() or not any(
        ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in text
    )
