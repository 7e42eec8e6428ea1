"""Bytes made worse: what a hostile writer would try on any text format, and blind damage."""

import re
from collections.abc import Callable, Sequence
from random import Random

NUMBERS = (
    b"-0", b"-0.0", b"0", b"00", b"+1", b"1.0", b"1e400", b"-1e400", b"1E1", b".5", b"1.",
    b"9007199254740991", b"9007199254740992", b"9007199254740993", b"-9007199254740992",
    b"18446744073709551615", b"18446744073709551616", b"1" * 400, b"9" * 5000, b"0x" + b"f" * 5000,
    b"1_000", b"NaN", b"Infinity", b"-Infinity", b"nan", b"inf", b"-inf", b"0x1p-3", b"1e-400",
    b"true", b"false", b"null", b'"1"', b"[]", b"{}", b"\xd9\xa3",
)  # fmt: skip
"""In the place of a number, or of anything that ends where one would."""
TEXTS = (
    b"\xef\xbb\xbf", b"\0", b"\r", b"\r\n", b"\n", b"\t", b"\x0b", b"\x0c", b"\x1b[2J", b"\x1c",
    b"\x7f", b"\xc2\x85", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\xe2\x80\x8b",
    b"\xed\xa0\x80", b"\xed\xb2\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xff", b"\xef\xbf\xbf",
    b"\xf0\x9f\x98\x80", b"e\xcc\x81", b"\xc3\xa9", b"\xef\xac\x81", b"\xd0\xb0", b"\\u0000",
    b"\\ud800", b"\\udc00", b"\\ud83d\\ude00", b"\\u0061", b"\\", b'\\"', b"\\/", b"\\x41",
    b'"', b"'", b'"""', b"#", b"//", b"/*", b",", b",,", b":", b"=", b"[", b"]", b"{", b"}",
    b"(", b")", b"..", b"/", b"../../etc/passwd", b"%s", b"{0}", b"__proto__", b"$(id)",
)  # fmt: skip
"""Anywhere."""
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?|true|false|null")
_PAIR = re.compile(
    rb'"[^"\n]{0,40}" ?: ?(?:"[^"\n]{0,80}"|[^,\[\]{}"\n]{1,40})|^[^\n=]{1,40}=[^\n]+$', re.M
)
_DEPTHS = (2, 31, 32, 33, 200, 3000)
_SHAPES = (
    (b"[", b"]"),
    (b'{"a":', b"}"),
    (b"(", b")"),
    (b"\x91", b""),
    (b"{a=", b"}"),
    (b"a.", b""),
)


def mutated(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """`data` after one to four changes; `others` are spliced with, `words` are the language's."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        data = draw.choice(_CHANGES)(data, draw, others, words)
    return data


def _place(data: bytes, draw: Random) -> int:
    return draw.randint(0, len(data))


def _span(data: bytes, draw: Random) -> tuple[int, int]:
    start = _place(data, draw)
    return start, min(len(data), start + int(draw.paretovariate(0.6)))


def _flip(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def _byte(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    at = _place(data, draw)
    return data[:at] + bytes([draw.randrange(256)]) + data[at + draw.randint(0, 1) :]


def _cut(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, end = _span(data, draw)
    return data[:start] if draw.random() < 0.2 else data[:start] + data[end:]


def _again(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A piece of it twice, often, or in another place."""
    start, end = _span(data, draw)
    piece = data[start:end] * draw.choice((1, 1, 2, 5, 40, 1000))
    at = end if draw.random() < 0.7 else _place(data, draw)
    return data[:at] + piece[: 1 << 16] + data[at:]


def _splice(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    other = draw.choice(others)
    start, end = _span(other, draw)
    at = _place(data, draw)
    return data[:at] + (other[start:] if draw.random() < 0.5 else other[start:end] + data[at:])


def _word(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    word = draw.choice(words) if words and draw.random() < 0.6 else draw.choice(TEXTS)
    start, end = _span(data, draw)
    return data[:start] + word + data[end if draw.random() < 0.4 else start :]


def _number(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    found = [match.span() for match in _NUMBER.finditer(data)]
    if not found:
        return data
    start, end = draw.choice(found)
    return data[:start] + draw.choice(NUMBERS) + data[end:]


def _twice(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A key and its value once more: the same, or with another value."""
    found = [match.span() for match in _PAIR.finditer(data)]
    if not found:
        return data
    start, end = draw.choice(found)
    pair = _number(data[start:end], draw, others, words) if draw.random() < 0.5 else data[start:end]
    between = b"," if data[start:end].startswith(b'"') else b"\n"
    return data[:end] + between + pair + data[end:]


def _nest(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Brackets around a piece, or opened and never closed."""
    start, end = _span(data, draw)
    opened, closed = draw.choice(_SHAPES)
    depth = draw.choice(_DEPTHS)
    closing = closed * depth if draw.random() < 0.7 else b""
    return data[:start] + opened * depth + data[start:end] + closing + data[end:]


def _lines(data: bytes, draw: Random, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Two lines in each other's place, or all of them with other ends."""
    lines = data.split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return draw.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r", b"")).join(lines)


_Change = Callable[[bytes, Random, Sequence[bytes], Sequence[bytes]], bytes]
_CHANGES: tuple[_Change, ...] = (
    _flip, _byte, _cut, _again, _splice, _word, _word, _number, _number, _twice, _nest, _lines,
)  # fmt: skip
