"""Keys in writing: public texts, signatures, and the file of a secret."""

import hashlib

from tests.fuzz.targets.target import Target, refused, room

from cacheon.evidence.keys import PREFIX, SECRET, Key, check_public, key_id, verify
from cacheon.records.errors import CacheonError

_SEED = bytes(range(32))
_KEY = Key(_SEED)
_MESSAGE = b"a message that one key signed"
_SMALL = ("00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f",
          "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")  # fmt: skip
"""Points under which anybody could sign, and one that has a second spelling."""


def check(data: bytes) -> bool:
    """1. A public text that is taken has no other spelling, and one id. 2. Nobody signs by
    guessing. 3. A file that is taken holds one secret and nothing else."""
    return any([_public(data), _signature(data), _file(data)])


def _public(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    try:
        point = check_public(text)
    except CacheonError as error:
        return refused(error)
    assert text == PREFIX + point.hex()
    assert point.hex() not in _SMALL
    assert key_id(text) == hashlib.sha256(data).hexdigest()
    return True


def _signature(data: bytes) -> bool:
    right = verify(_KEY.public, _MESSAGE, data)
    assert right == (data == _KEY.sign(_MESSAGE))
    return right


def _file(data: bytes) -> bool:
    path = room("keys") / "secret"
    path.write_bytes(data)
    path.chmod(0o600)
    try:
        key = Key.load(path)
    except CacheonError as error:
        return refused(error, secret=_SEED.hex())
    seed = bytes.fromhex(data.decode().strip().removeprefix(SECRET))
    assert data == f"{SECRET}{seed.hex()}\n".encode()
    assert key.public == Key(seed).public
    return True


def seeds() -> list[bytes]:
    file = f"{SECRET}{_SEED.hex()}\n"
    return [_KEY.public.encode(), file.encode(), _KEY.sign(_MESSAGE)]


TARGET = Target(
    "keys",
    check,
    seeds,
    words=(PREFIX.encode(), SECRET.encode(), *(point.encode() for point in _SMALL)),
    most=256,
)
