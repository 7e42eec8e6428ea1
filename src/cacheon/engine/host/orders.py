"""What the host orders of the zygote, and what the zygote answers."""

from typing import Literal

from cacheon.records.strict import Record

Role = Literal["grader", "worker", "inline"]


class Order(Record, tag_field="order"):
    """What the host orders of the zygote."""


class Fork(Order, tag="fork"):
    """Fork a child of this role, for the GPU of this number. Its socket and its output pipe
    come along."""

    role: Role
    device: int = 0


class Sweep(Order, tag="sweep"):
    """Kill the child and every descendant that is nobody else's."""

    pid: int


class Leave(Order, tag="leave"):
    """End everybody and leave: the host goes on without this zygote. Not answered."""


class Answer(Record, tag_field="answer"):
    """What the zygote says."""


class Ready(Answer, tag="ready"):
    """Imports are done. `missing`: modules that could not be found."""

    missing: tuple[str, ...] = ()


class Forked(Answer, tag="forked"):
    pid: int


class Swept(Answer, tag="swept"):
    """How the child ended, and how many of its descendants had left its session and were
    still there. `signal` and `status` are -1 where they do not apply."""

    pid: int
    signal: int
    status: int
    strays: int


AnyOrder = Fork | Sweep | Leave
AnyAnswer = Ready | Forked | Swept
