"""DSSE envelopes: bytes, what they are, and who signed both.

The signature covers the payload's type beside its bytes (PAE), so that a signed delivery
is never read as something else. Refusals are RecordRefused: those of `records.canonical`
for the envelope's own bytes, `public-key` for an unusable pin, and these frozen codes:

| code | meaning |
| --- | --- |
| `payload-type` | the payload is of another type than the one asked for |
| `signatures` | no signature, or more than an envelope may have |
| `unsigned` | fewer pinned keys of the role signed than are asked for |
"""

from collections.abc import Iterable, Sequence

from cacheon.evidence.keys import Key, key_id, verify
from cacheon.evidence.store.limits import LIMITS
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import Digest
from cacheon.records.errors import RecordRefused
from cacheon.records.strict import Record

MOST = LIMITS.record_bytes * 4 // 3 + (LIMITS.signatures + 1) * 256
"""Bytes of an envelope around the largest record: base64 makes four of three."""


class Signature(Record):
    """`keyid` is the id of the key that is said to have signed: a hint, never believed."""

    keyid: Digest
    sig: bytes


class Envelope(Record, rename={"payload_type": "payloadType"}):
    """As in DSSE v1; bytes are base64 in the stored form."""

    payload: bytes
    payload_type: str
    signatures: tuple[Signature, ...]


class Pin(Record):
    """A key (its public text) that counts in a role, and in no other."""

    key: str
    role: str


class Opened(Record):
    """What a verified envelope held, and the ids of the pinned keys that signed it."""

    payload: bytes
    signers: frozenset[str]


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: type and payload, each behind its length in bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def seal(payload: bytes, payload_type: str, keys: Sequence[Key]) -> bytes:
    """The canonical bytes of an envelope, signed by each key."""
    message = pae(payload_type, payload)
    return encode(
        Envelope(
            payload=payload,
            payload_type=payload_type,
            signatures=tuple(Signature(keyid=key.id, sig=key.sign(message)) for key in keys),
        )
    )


def open_envelope(
    data: bytes,
    payload_type: str,
    pins: Iterable[Pin],
    *,
    role: str,
    quorum: int = 1,
    source: str = "",
) -> Opened:
    """The payload of an envelope that enough pinned keys signed: of bytes that are canonical
    and within the limits, what `opened` says. Raises RecordRefused."""
    envelope = decode(data, Envelope, limit=MOST, source=source)
    return opened(envelope, payload_type, pins, role=role, quorum=quorum, source=source)


def opened(
    envelope: Envelope,
    payload_type: str,
    pins: Iterable[Pin],
    *,
    role: str,
    quorum: int = 1,
    source: str = "",
) -> Opened:
    """The payload of an envelope that came through the gate, if enough pinned keys signed it.

    1. The type is the one that is asked for. 2. Each signature is tried against each key
    pinned in the role, and a key counts once, however many pins or signatures it has. 3. At
    least `quorum` keys. Signatures of nobody that is pinned change nothing. The caller still
    decodes the payload, and checks what it binds. Raises RecordRefused."""
    if quorum < 1:
        raise ValueError("an envelope that nobody need sign is not verified")
    if envelope.payload_type != payload_type:
        raise RecordRefused(
            "payload-type", file=source, expected=payload_type, got=envelope.payload_type
        )
    count = len(envelope.signatures)
    if not 1 <= count <= LIMITS.signatures:
        raise RecordRefused(
            "signatures", file=source, expected=f"1 to {LIMITS.signatures}", got=f"{count}"
        )
    message = pae(payload_type, envelope.payload)
    pinned = {key_id(pin.key): pin.key for pin in pins if pin.role == role}
    signers = frozenset(
        id
        for id, key in pinned.items()
        if any(verify(key, message, signature.sig) for signature in _hinted(envelope, id))
    )
    if len(signers) < quorum:
        raise RecordRefused(
            "unsigned",
            file=source,
            expected=f"{quorum} of {len(pinned)} keys pinned as {role}",
            got=f"{len(signers)}",
        )
    return Opened(payload=envelope.payload, signers=signers)


def _hinted(envelope: Envelope, id: str) -> list[Signature]:
    """All signatures, those that claim to be this key's first."""
    return sorted(envelope.signatures, key=lambda signature: signature.keyid != id)
