"""Envelopes: the published vector, and who counts as having signed."""

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheon.evidence.envelope import MOST, Opened, Pin, open_envelope, pae, seal
from cacheon.evidence.keys import Key
from cacheon.evidence.store import LIMITS
from cacheon.records.canonical import encode
from cacheon.records.errors import RecordRefused

TYPE = "application/vnd.cacheon.sample+json"
BODY = b'{"schema":"sample/1"}'
KEYS = [Key(bytes([number] * 32)) for number in range(4)]
PINS = [Pin(key=key.public, role="observer") for key in KEYS[:3]]


def opened(data: bytes, quorum: int = 1, pins: list[Pin] = PINS, role: str = "observer") -> Opened:
    return open_envelope(data, TYPE, pins, role=role, quorum=quorum)


def code(call: Callable[[], object]) -> str:
    with pytest.raises(RecordRefused) as caught:
        call()
    return caught.value.code


def changed(data: bytes, **fields: object) -> bytes:
    return encode({**json.loads(data), **fields})


def test_the_published_vector() -> None:
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("ä", b"") == b"DSSEv1 2 \xc3\xa4 0 "


def test_golden_bytes() -> None:
    """The stored form never changes: these bytes are in somebody's store."""
    data = seal(BODY, TYPE, KEYS[:1])
    assert json.loads(data) == {
        "payload": base64.b64encode(BODY).decode(),
        "payloadType": TYPE,
        "signatures": [
            {
                "keyid": KEYS[0].id,
                "sig": base64.b64encode(KEYS[0].sign(pae(TYPE, BODY))).decode(),
            }
        ],
    }
    assert data == (
        b'{"payload":"eyJzY2hlbWEiOiJzYW1wbGUvMSJ9","payloadType":"application/vnd.cacheon'
        b'.sample+json","signatures":[{"keyid":"' + KEYS[0].id.encode() + b'","sig":"'
        b'h8oHvxb/V+MFuwXSedoS80O7CJZSodxtiAMCjkd/rpBY7PQD7Qlj2/a9MF88givFeoQ0h4EaA+RWqT8mxwAUAA=="}]}'
    )


@given(st.binary(), st.sets(st.integers(0, 3), min_size=1))
def test_what_was_sealed_opens_for_the_pinned(payload: bytes, who: set[int]) -> None:
    data = seal(payload, TYPE, [KEYS[number] for number in sorted(who)])
    pinned = frozenset(KEYS[number].id for number in who - {3})
    if pinned:
        assert opened(data, len(pinned)) == Opened(payload=payload, signers=pinned)
    assert code(lambda: opened(data, len(pinned) + 1)) == "unsigned"


def test_a_key_counts_once() -> None:
    twice = seal(BODY, TYPE, [KEYS[0], KEYS[0]])
    assert opened(twice).signers == {KEYS[0].id}
    assert code(lambda: opened(twice, 2)) == "unsigned"
    # Nor do two pins make two keys of one, or a second hint.
    assert code(lambda: opened(twice, 2, [PINS[0], PINS[0]])) == "unsigned"
    one = json.loads(seal(BODY, TYPE, [KEYS[0]]))["signatures"][0]
    renamed = changed(twice, signatures=[one, {**one, "keyid": KEYS[1].id}])
    assert code(lambda: opened(renamed, 2)) == "unsigned"


def test_the_key_id_is_a_hint_only() -> None:
    data = seal(BODY, TYPE, [KEYS[0]])
    signature = json.loads(data)["signatures"][0]
    renamed = changed(data, signatures=[{**signature, "keyid": KEYS[1].id}])
    assert opened(renamed).signers == {KEYS[0].id}
    # A pinned key's name on the signature of one that is not pinned helps nobody.
    stranger = json.loads(seal(BODY, TYPE, [KEYS[3]]))["signatures"][0]
    forged = changed(data, signatures=[{**stranger, "keyid": KEYS[0].id}])
    assert code(lambda: opened(forged)) == "unsigned"


def test_a_key_counts_in_its_role_only() -> None:
    data = seal(BODY, TYPE, [KEYS[0]])
    assert code(lambda: opened(data, role="authority")) == "unsigned"
    both = [*PINS, Pin(key=KEYS[3].public, role="authority")]
    assert code(lambda: opened(seal(BODY, TYPE, [KEYS[3]]), pins=both)) == "unsigned"
    assert opened(seal(BODY, TYPE, [KEYS[3]]), pins=both, role="authority")
    assert code(lambda: opened(data, pins=[])) == "unsigned"


def test_the_type_is_signed_and_asked_for() -> None:
    data = seal(BODY, TYPE, [KEYS[0]])
    other = "application/vnd.cacheon.other+json"
    assert code(lambda: open_envelope(data, other, PINS, role="observer")) == "payload-type"
    assert (
        code(lambda: open_envelope(changed(data, payloadType=other), other, PINS, role="observer"))
        == "unsigned"
    )
    moved = changed(data, payload=base64.b64encode(BODY + b" ").decode())
    assert code(lambda: opened(moved)) == "unsigned"


def test_the_number_of_signatures_is_limited() -> None:
    assert code(lambda: opened(seal(BODY, TYPE, []))) == "signatures"
    many = seal(BODY, TYPE, [KEYS[0]] * (LIMITS.signatures + 1))
    assert code(lambda: opened(many)) == "signatures"
    assert opened(seal(BODY, TYPE, [KEYS[0]] * LIMITS.signatures))
    with pytest.raises(ValueError, match="nobody"):
        opened(many, 0)


def test_an_envelope_around_the_largest_record_is_within_the_limit() -> None:
    around = seal(b"", "a/" + "b" * 100, [KEYS[0]] * LIMITS.signatures)
    assert len(around) + (LIMITS.record_bytes + 2) // 3 * 4 <= MOST
    assert code(lambda: opened(around + b" " * MOST)) == "too-large"


SIGNED = seal(BODY, TYPE, [KEYS[0]])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not-a-record"),
        (SIGNED + b"\n", "not-canonical"),
        (SIGNED.replace(b'{"payload":', b'{"payload":"","payload":'), "not-canonical"),
        (SIGNED.replace(b"eyJz", b"eyJ\\u007a"), "not-canonical"),
        (SIGNED.replace(b"AA==", b"AB=="), "not-canonical"),
        (changed(SIGNED, payload="eyJz*"), "not-a-record"),
        (changed(SIGNED, payload="eyJzY2hlbWEiOiJzYW1wbGUvMSJ"), "not-a-record"),
        (changed(SIGNED, verdict=True), "not-a-record"),
        (changed(SIGNED, signatures=[{"keyid": "00", "sig": ""}]), "not-a-record"),
        (changed(SIGNED, signatures=[{"keyid": KEYS[0].id, "sig": ""}]), "unsigned"),
        (changed(SIGNED, signatures=[{"sig": ""}]), "not-a-record"),
        (changed(SIGNED, payloadType=7), "not-a-record"),
    ],
)
def test_what_is_no_envelope_is_refused(data: bytes, said: str) -> None:
    assert code(lambda: opened(data)) == said


def test_a_pin_that_is_no_key_is_refused() -> None:
    assert code(lambda: opened(SIGNED, pins=[Pin(key="ed25519:00", role="observer")])) == (
        "public-key"
    )
