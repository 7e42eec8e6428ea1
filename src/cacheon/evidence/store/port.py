"""The port: what anything that keeps evidence must do."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from cacheon.evidence.store.limits import Limits

References = Callable[[bytes], Iterable[str]]
"""The digests that a record's bytes name. The store knows bytes; its caller knows records."""


class Store(Protocol):
    """Bytes under their digests, and immutable pointers that commit them.

    Whoever publishes puts the blobs first and makes the pointer that commits them last:
    before the pointer nothing of it counts, after it all of it is there. Every call may be
    repeated. Errors are StoreRefused (the bytes or the name) and StoreFailed (the machine)."""

    @property
    def limits(self) -> Limits: ...

    def put(self, data: bytes) -> str:
        """Keep these bytes; their digest. They are durable when this returns.

        Refused with `too-large`, `quota`, or `corrupt` where other bytes lie under the
        digest already: an alarm, because nobody honest put them there."""
        ...

    def get(self, digest: str, limit: int | None = None) -> bytes:
        """The bytes that `digest` names: read once, checked, and this very buffer returned.

        At most `limit` bytes, by default those of one record. Refused with `missing`,
        `too-large`, `not-a-file`, `hard-link`, `corrupt`."""
        ...

    def has(self, digest: str) -> bool:
        """Whether something lies under the digest; `get` says whether it is sound."""
        ...

    def digests(self) -> Iterator[str]:
        """What lies in the store, sorted, unchecked."""
        ...

    def link(self, kind: str, name: str, digest: str) -> bool:
        """Make the pointer `kind`/`name` name `digest`, once and for ever.

        True where this call made it, False where it named this very digest before: so a
        nonce is spent by exactly one caller. Raises PointerTaken, whose `there` says what
        it names, where that is another; refused with `dangling` before the blob is there.
        `kind` is lower-case letters, `name` one to three digests joined by `-`."""
        ...

    def pointer(self, kind: str, name: str) -> str | None:
        """The digest that the pointer names; None where there is none."""
        ...

    def names(self, kind: str) -> Iterator[str]:
        """The names of all pointers of a kind, sorted."""
        ...

    def kinds(self) -> Iterator[str]:
        """The kinds of which there may be pointers, sorted."""
        ...
