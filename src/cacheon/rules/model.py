"""What a rule is: one kind of fault, and what a kernel's author does about it."""

from typing import Literal

from cacheon.records.strict import Record

Group = Literal[
    "synchronization",
    "writes",
    "staleness",
    "streams",
    "allocation",
    "groups",
    "state",
    "declarations",
    "hostility",
]


class Rule(Record):
    """One kind of fault. `id` is stable, never reused, and its first digit is its group's.

    `title` names the fault in a line; `why` says what happens in serving because of it;
    `remedy` what to change in the candidate.
    """

    id: str
    title: str
    group: Group
    why: str
    remedy: str
