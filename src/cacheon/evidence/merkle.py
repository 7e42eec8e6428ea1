"""The hash tree of RFC 6962: a leaf is hashed behind 0x00, a node behind 0x01.

Hashes are 32 bytes. A tree of n leaves splits at the largest power of two below n.
"""

import hashlib
from collections.abc import Sequence

EMPTY = hashlib.sha256(b"").digest()
"""The root of no leaves."""


def leaf(data: bytes) -> bytes:
    """The hash of one leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash over two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that grows: the roots of its perfect subtrees, largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Append the hash of a leaf."""
        size, self.size = self.size, self.size + 1
        while size % 2:
            leaf = node(self._roots.pop(), leaf)
            size //= 2
        self._roots.append(leaf)

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._roots:
            return EMPTY
        *rest, root = self._roots
        for left in reversed(rest):
            root = node(left, root)
        return root


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over the hashes of all leaves."""
    frontier = Frontier()
    for hashed in leaves:
        frontier.add(hashed)
    return frontier.root()


def inclusion(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """The audit path of a leaf, from the leaf up. 0 <= index < len(leaves)."""
    if len(leaves) == 1:
        return ()
    half = _split(len(leaves))
    if index < half:
        return (*inclusion(leaves[:half], index), root(leaves[half:]))
    return (*inclusion(leaves[half:], index - half), root(leaves[:half]))


def consistency(leaves: Sequence[bytes], first: int) -> tuple[bytes, ...]:
    """The proof that the first `first` leaves began the tree. 0 < first <= len(leaves)."""
    return _subproof(leaves, first, whole=True)


def _subproof(leaves: Sequence[bytes], first: int, *, whole: bool) -> tuple[bytes, ...]:
    if first == len(leaves):
        # The verifier has the root of the older tree already.
        return () if whole else (root(leaves),)
    half = _split(len(leaves))
    if first <= half:
        return (*_subproof(leaves[:half], first, whole=whole), root(leaves[half:]))
    return (*_subproof(leaves[half:], first - half, whole=False), root(leaves[:half]))


def shows_inclusion(
    hashed: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> bool:
    """Whether the path leads from a leaf at `index` to the root of a tree of `size`
    (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    at, last = index, size - 1
    for sibling in path:
        if last == 0:
            return False
        if at % 2 or at == last:
            hashed = node(sibling, hashed)
            while not at % 2 and at:
                at, last = at // 2, last // 2
        else:
            hashed = node(hashed, sibling)
        at, last = at // 2, last // 2
    return last == 0 and hashed == root


def shows_consistency(
    first: int, second: int, older: bytes, newer: bytes, path: Sequence[bytes]
) -> bool:
    """Whether the tree of `first` leaves under `older` began the one of `second` under
    `newer` (RFC 9162, 2.1.4.2). The empty tree began every tree."""
    if not 0 <= first <= second:
        return False
    if first == second:
        return not path and older == newer
    if first == 0:
        return not path and older == EMPTY
    # A perfect older tree is its own first step.
    steps = list(path) if first & (first - 1) else [older, *path]
    if not steps:
        return False
    at, last = first - 1, second - 1
    while at % 2:
        at, last = at // 2, last // 2
    then = now = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if at % 2 or at == last:
            then, now = node(step, then), node(step, now)
            while not at % 2 and at:
                at, last = at // 2, last // 2
        else:
            now = node(now, step)
        at, last = at // 2, last // 2
    return last == 0 and then == older and now == newer


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << (size - 1).bit_length() - 1
