"""Arenas: what is published about a serving setting, and the policy that holds in it."""

from cacheon.contract.arenas.model import Arena, Bounds, PinnedKey, Published
from cacheon.contract.arenas.reading import read_arena
from cacheon.contract.arenas.shipped import arena_names, shipped_arena

__all__ = [
    "Arena",
    "Bounds",
    "PinnedKey",
    "Published",
    "arena_names",
    "read_arena",
    "shipped_arena",
]
