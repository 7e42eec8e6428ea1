"""How far an observer's run has come, kept so that it can be killed and go on.

| kind | name | names |
| --- | --- | --- |
| `run` | requirement, key | the run that this key began for the requirement |
| `seen` | run, variant | the observations of a variant that was examined to its end |
| `sent` | requirement, key | the delivery that the run ended with |

A variant that was examined is never examined again in the same run: a result that does not
please cannot be drawn anew.
"""

from typing import Final, Literal

from cacheon.records.digest import Digest, sha256
from cacheon.records.strict import Record

RUNS: Final = "run"
SEEN: Final = "seen"
SENT: Final = "sent"
RUN: Final = "cacheon/run/1"
SEEN_RECORD: Final = "cacheon/seen/1"


class Run(Record):
    """One run of one observer. `run`: 32 random bytes that name it."""

    schema: Literal["cacheon/run/1"]
    requirement: Digest
    observer: Digest
    run: Digest


class Seen(Record):
    """A variant whose every required case has an observation."""

    schema: Literal["cacheon/seen/1"]
    run: Digest
    slot: str
    variant: str
    observations: tuple[Digest, ...]


def variant_name(slot: str, variant: str) -> str:
    """The digest by which a pointer names a variant."""
    return sha256(f"{slot} {variant}".encode())
