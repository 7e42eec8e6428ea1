"""Signed envelopes: `evidence.envelope.open_envelope`."""

from tests.fuzz.targets.target import Target, refused

from cacheon.evidence.envelope import MOST, Envelope, Pin, open_envelope, seal
from cacheon.evidence.keys import Key
from cacheon.records.canonical import decode, encode
from cacheon.records.errors import CacheonError

_TYPE = "application/vnd.cacheon.sample+json"
_BODIES = (b'{"schema":"sample/1"}', b"", b"\0\xff" * 40)
_KEYS = [Key(bytes([number] * 32)) for number in range(3)]
_PINS = [Pin(key=key.public, role="observer") for key in _KEYS[:2]]


def check(data: bytes) -> bool:
    """1. What opens holds a payload that a pinned key did sign: the fuzzer has no key. 2. Its
    envelope has no second spelling. 3. What two must sign, one may open too."""
    opened = []
    for quorum in (1, 2):
        try:
            opened.append(open_envelope(data, _TYPE, _PINS, role="observer", quorum=quorum))
        except CacheonError as error:
            refused(error)
    for each in opened:
        assert each.payload in _BODIES
        assert each.signers <= {key.id for key in _KEYS[:2]}
        assert each == opened[0]
    if opened:
        assert encode(decode(data, Envelope, limit=MOST)) == data
    return bool(opened)


def seeds() -> list[bytes]:
    return [
        seal(body, _TYPE, signers)
        for body in _BODIES
        for signers in (_KEYS[:1], _KEYS[:2], [_KEYS[2], _KEYS[1]], [_KEYS[0], _KEYS[0]])
    ]


TARGET = Target(
    "envelope",
    check,
    seeds,
    words=(
        b'"payload":"', b'"payloadType":"', b'"signatures":[', b'{"keyid":"', b'","sig":"', b"=",
        b"==", b"+", b"/", b"-_", _TYPE.encode(), _KEYS[1].id.encode(), _KEYS[1].public.encode(),
    ),
)  # fmt: skip
