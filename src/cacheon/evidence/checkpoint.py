"""What a log says of itself: entries, signed checkpoints, and proofs between them.

Nothing here needs the log: an auditor holds checkpoints and proofs only. Refusals are
RecordRefused, with these frozen codes beside those of the gate and the envelope:

| code | meaning |
| --- | --- |
| `log-origin` | a checkpoint of another log |
| `log-order` | a checkpoint that counts fewer entries than an earlier one |
| `log-shrunk` | the log has fewer entries than a checkpoint counts |
| `log-forked` | other entries than a checkpoint's root stands for |
| `log-proof` | a proof that does not show what it is offered for |
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from cacheon.evidence import merkle
from cacheon.evidence.envelope import Pin, open_envelope, seal
from cacheon.evidence.keys import Key
from cacheon.evidence.store.limits import LIMITS
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import Digest
from cacheon.records.errors import RecordRefused
from cacheon.records.strict import Record

CHECKPOINT_TYPE = "application/vnd.cacheon.checkpoint+json"
ROLE = "log"
"""The role that a log's key is pinned in."""
Count = Annotated[int, msgspec.Meta(ge=0)]


class Entry(Record):
    """A published record: its kind (requirement, grade) and its digest."""

    schema: Literal["cacheon/log-entry/1"]
    kind: Annotated[str, msgspec.Meta(pattern=r"\A[a-z]{1,32}\Z")]
    digest: Digest


class Checkpoint(Record):
    """The log named `origin` had `size` entries, and `root` was their root."""

    schema: Literal["cacheon/checkpoint/1"]
    origin: Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{1,200}\Z")]
    size: Count
    root: Digest


class Inclusion(Record):
    """The audit path of the entry at `index` in the log's first `size` entries."""

    schema: Literal["cacheon/inclusion/1"]
    index: Count
    size: Count
    path: tuple[Digest, ...]


class Consistency(Record):
    """The proof that the first `first` of `second` entries are those of an older tree."""

    schema: Literal["cacheon/consistency/1"]
    first: Count
    second: Count
    path: tuple[Digest, ...]


def entry(kind: str, digest: str) -> Entry:
    """An entry, its fields checked. Raises RecordRefused."""
    made = Entry(schema="cacheon/log-entry/1", kind=kind, digest=digest)
    return decode(encode(made), Entry, limit=LIMITS.line_bytes)


def leaf(entry: Entry) -> bytes:
    """The hash of an entry's canonical bytes, as a leaf of the tree."""
    return merkle.leaf(encode(entry))


def sign_checkpoint(checkpoint: Checkpoint, key: Key) -> bytes:
    """The checkpoint, its fields checked, sealed by a log's key. Raises RecordRefused."""
    data = encode(checkpoint)
    decode(data, Checkpoint, limit=LIMITS.line_bytes)
    return seal(data, CHECKPOINT_TYPE, [key])


def open_checkpoint(
    data: bytes, pins: Iterable[Pin], *, origin: str, source: str = ""
) -> Checkpoint:
    """A checkpoint of the log named `origin`, signed by a key pinned in the role `log`.
    Raises RecordRefused."""
    opened = open_envelope(data, CHECKPOINT_TYPE, pins, role=ROLE, source=source)
    checkpoint = decode(opened.payload, Checkpoint, limit=LIMITS.line_bytes, source=source)
    if checkpoint.origin != origin:
        raise RecordRefused("log-origin", file=source, expected=origin, got=checkpoint.origin)
    return checkpoint


def check_included(entry: Entry, proof: Inclusion, checkpoint: Checkpoint) -> None:
    """See that the entry was in the log when the checkpoint was made. Raises
    RecordRefused (`log-proof`)."""
    path = [bytes.fromhex(step) for step in proof.path]
    if proof.size != checkpoint.size or not merkle.shows_inclusion(
        leaf(entry), proof.index, proof.size, path, bytes.fromhex(checkpoint.root)
    ):
        raise RecordRefused(
            "log-proof",
            place=f"entry {proof.index}",
            expected=f"a path to the root of {checkpoint.size} entries",
            got="another",
        )


def check_extends(earlier: Checkpoint, later: Checkpoint, proof: Consistency) -> None:
    """See that the log of `later` begins with all of `earlier`: nothing was deleted,
    changed or put before it. Raises RecordRefused."""
    if earlier.origin != later.origin:
        raise RecordRefused("log-origin", expected=earlier.origin, got=later.origin)
    if later.size < earlier.size:
        raise RecordRefused(
            "log-order", expected=f"{earlier.size} entries or more", got=f"{later.size}"
        )
    if (proof.first, proof.second) != (earlier.size, later.size) or not merkle.shows_consistency(
        proof.first,
        proof.second,
        bytes.fromhex(earlier.root),
        bytes.fromhex(later.root),
        [bytes.fromhex(step) for step in proof.path],
    ):
        raise RecordRefused(
            "log-proof",
            expected=f"a proof from {earlier.size} to {later.size} entries",
            got="another",
        )
