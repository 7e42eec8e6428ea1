"""Identities: SHA-256, in 64 lower-case hexadecimal characters."""

import hashlib
import re
from typing import Annotated

import msgspec

Digest = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
"""A digest inside a record; the pattern is anchored, because msgspec searches."""

_DIGEST = re.compile(r"\A[0-9a-f]{64}\Z")


def sha256(data: bytes) -> str:
    """The identity of these very bytes."""
    return hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether `text` is spelled as a digest."""
    return _DIGEST.match(text) is not None
