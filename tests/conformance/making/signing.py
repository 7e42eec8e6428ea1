"""Envelopes: who signed, what exactly, and under which keys anybody could."""

import base64
from collections.abc import Iterator

from tests.conformance.making.entry import GRADE, INTAKE, Entry, Files, at_intake, sent
from tests.conformance.making.world import (
    DELIVERY_TYPE,
    KEYS,
    REQUIREMENT,
    Body,
    a_delivery,
    a_signature,
    an_envelope,
    canonical,
    changed,
    digest,
    key_id,
    rows_of,
    without,
)

PAYLOAD = canonical(a_delivery([digest(row) for row in rows_of()]))
GOOD = an_envelope(PAYLOAD, 0)
SIGNATURE = a_signature(PAYLOAD, 0)
CHECKPOINT_TYPE = "application/vnd.cacheon.checkpoint+json"
SMALL_ORDER = {
    "neutral": "01" + "00" * 31,
    "order-2": "ec" + "ff" * 30 + "7f",
    "order-4": "00" * 32,
    "order-8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
}
"""Points under which a signature over anything can be made by anybody."""
NOT_CANONICAL = "ee" + "ff" * 30 + "7f"


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def envelope(**fields: object) -> Files:
    return sent(envelope=changed(GOOD, **fields))


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def entries() -> Iterator[Entry]:
    yield from _signatures()
    yield from _envelopes()
    yield from _keys()


def _signatures() -> Iterator[Entry]:
    wrong = base64.b64decode(SIGNATURE["sig"])
    as_another = SIGNATURE | {"sig": a_signature(PAYLOAD, 1)["sig"]}
    of_another_type = a_signature(PAYLOAD, 0, CHECKPOINT_TYPE)
    unsigned: dict[str, list[Body]] = {
        "by-another-pinned-key": [a_signature(PAYLOAD, 1)],
        "by-another-under-the-keyid": [as_another],
        "one-bit-of-the-signature": [SIGNATURE | {"sig": text(flipped(wrong, 0))}],
        "scalar-not-reduced": [SIGNATURE | {"sig": text(_malleable(wrong))}],
        "signature-too-short": [SIGNATURE | {"sig": text(wrong[:-1])}],
        "signature-of-zeros": [SIGNATURE | {"sig": text(bytes(64))}],
        "over-another-type": [of_another_type],
        "over-the-bare-payload": [SIGNATURE | {"sig": text(_bare())}],
    }
    for what, signatures in unsigned.items():
        yield at_intake(f"refused-unsigned-{what}", envelope(signatures=signatures))
    yield at_intake("refused-signatures-none", envelope(signatures=[]))
    yield at_intake("refused-signatures-too-many", envelope(signatures=[SIGNATURE] * 17))
    tampered = PAYLOAD.replace(digest(rows_of()[0]).encode(), b"0" * 64)
    yield at_intake("refused-unsigned-payload-tampered-with", envelope(payload=text(tampered)))
    # A hint that is wrong, and a stranger's signature beside the right one, change nothing.
    beside = [a_signature(PAYLOAD, 3), SIGNATURE | {"keyid": key_id(2)}]
    yield Entry("pass-keyid-is-a-hint-only", (INTAKE, GRADE), envelope(signatures=beside))


def _bare() -> bytes:
    from tests.conformance.making.world import SIGNERS

    return bytes(SIGNERS[0].sign(PAYLOAD).signature)


def _malleable(signature: bytes) -> bytes:
    """The same signature with the group's order added to its scalar."""
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(signature[32:], "little") + order
    return signature[:32] + scalar.to_bytes(32, "little")


def _envelopes() -> Iterator[Entry]:
    other_type = an_envelope(PAYLOAD, 0, payload_type=CHECKPOINT_TYPE)
    yield at_intake("refused-payload-type-of-a-checkpoint", sent(envelope=other_type))
    broken: dict[str, Body | bytes] = {
        "payload-not-base64": changed(GOOD, payload="?" + GOOD["payload"][1:]),
        "payload-unpadded": changed(GOOD, payload=GOOD["payload"].rstrip("=") + "A"),
        "keyid-upper-case": changed(GOOD, signatures=[SIGNATURE | {"keyid": key_id(0).upper()}]),
        "without-keyid": changed(GOOD, signatures=[without(SIGNATURE, "keyid")]),
        "with-another-field": changed(GOOD, verified=True),
        "bare-delivery": PAYLOAD,
        "of-an-observation": an_envelope(canonical(rows_of()[0]), 0),
        "of-nothing": an_envelope(b"", 0),
        "not-json": b"DSSEv1",
    }
    for what, data in broken.items():
        yield at_intake(f"refused-not-a-record-envelope-{what}", sent(envelope=data))
    spelled = {
        "keys-unsorted": b'{"payloadType":"%s",' % DELIVERY_TYPE.encode()
        + canonical(without(GOOD, "payloadType"))[1:],
        "line-feed-after": canonical(GOOD) + b"\n",
        "payload-not-canonical": canonical(an_envelope(PAYLOAD + b" ", 0)),
    }
    for what, data in spelled.items():
        yield at_intake(f"refused-not-canonical-envelope-{what}", sent(envelope=data))


def _keys() -> Iterator[Entry]:
    stranger = sent(lab=3)
    yield at_intake("refused-key-not-pinned", stranger)
    claimed = canonical(a_delivery([digest(row) for row in rows_of()], said={"observer": KEYS[1]}))
    yield at_intake(
        "refused-unsigned-observer-of-another-name", sent(envelope=an_envelope(claimed, 0))
    )
    points = {f"of-small-order-{what}": point for what, point in SMALL_ORDER.items()}
    points["not-canonical"] = NOT_CANONICAL
    points["not-on-the-curve"] = "02" + "00" * 31
    for what, point in points.items():
        weak = changed(REQUIREMENT, observers=[{"key": point, "name": "anybody"}])
        body = canonical(a_delivery([], weak, said={"observer": point}))
        anybody = {
            "keyid": "0" * 64,
            "sig": text(bytes.fromhex(SMALL_ORDER["neutral"]) + bytes(32)),
        }
        offered = an_envelope(body) | {"signatures": [anybody]}
        files = sent([], weak, envelope=offered)
        yield at_intake(f"refused-public-key-{what}", files)
