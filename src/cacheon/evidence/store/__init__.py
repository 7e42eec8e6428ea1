"""Bytes under their digests, pointers that commit them, and what goes wrong with either."""

from cacheon.evidence.store.directory import DirectoryStore
from cacheon.evidence.store.errors import PointerTaken, StoreFailed, StoreRefused
from cacheon.evidence.store.limits import LIMITS, Limits
from cacheon.evidence.store.port import References, Store

__all__ = [
    "LIMITS",
    "DirectoryStore",
    "Limits",
    "PointerTaken",
    "References",
    "Store",
    "StoreFailed",
    "StoreRefused",
]
