"""Fuzzing without a guide: seeds, made worse at random; and one input, within its time."""

import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

from tests.fuzz.mutations import mutated
from tests.fuzz.targets.target import Target

REGRESSIONS = Path(__file__).parent / "regressions"
MOST_MEMORY = 1 << 30
"""Bytes by which a target may make the process grow."""


class Finding(AssertionError):
    """What came out is no refusal, or took too much. `data` is the input."""

    def __init__(self, target: Target, data: bytes, why: BaseException | str) -> None:
        self.target, self.data = target, data
        said = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
        super().__init__(f"{target.name}: {data[:300]!a}: {said[:2000]}")


class Late(BaseException):
    """Out of time. No parser catches this by mistake."""


class Tried(NamedTuple):
    """How many inputs were parsed, and how many of them were accepted."""

    executions: int
    accepted: int


def regressions(name: str) -> list[Path]:
    """Every input of a target that was a finding once."""
    return sorted((REGRESSIONS / name).glob("*"))


def attempt(target: Target, data: bytes) -> bool:
    """Whether one input is accepted. Raises Finding."""
    try:
        with _within(target.seconds):
            return target.check(data)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Finding(target, data, error) from error


def attempts(target: Target, seed: int, executions: int, seconds: float = float("inf")) -> Tried:
    """Try so many inputs, or for so long. Raises Finding."""
    draw = Random(seed)
    seeds = [*target.seeds(), *(path.read_bytes() for path in regressions(target.name))]
    before = _peak()
    accepted = done = 0
    until = time.monotonic() + seconds
    while done < executions and time.monotonic() < until:
        data = mutated(draw.choice(seeds), draw, seeds, target.words)[: target.most]
        accepted += attempt(target, data)
        done += 1
        if _peak() - before > MOST_MEMORY:
            raise Finding(target, data, "more memory than anybody should need")
    return Tried(done, accepted)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise Late(f"not done in {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
