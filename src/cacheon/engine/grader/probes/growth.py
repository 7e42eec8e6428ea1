"""Does device memory climb over eager calls, replays, or captures that are thrown away?

The driver's count is read while nothing else of ours allocates. One step up may be an
allocator that settles, or somebody else's on this GPU; three in a row, each over as many
repetitions and none much smaller than another, are a slope. So is what a neighbour does that
loads its kernels at that very moment: a slope is looked for again after a while.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from cacheon.engine.grader.group import Group
from cacheon.engine.outcome import Stage
from cacheon.engine.protocol import AnyCommand, Call, Disturb, Recapture, Replay

_CALLS, _CAPTURES = 256, 6
_STEPS = 3
_SETTLING = 4
"""The first repetitions may still fill caches; this share of them is not measured."""
_A_WHILE = 0.5
"""Seconds in which a neighbour has loaded its kernels."""


class Climb(NamedTuple):
    """Memory that climbed: at which stage, over how much of what, in bytes."""

    stage: Stage
    what: str
    times: int
    nbytes: int


def climbs(session: Group, case: int, graph: bool) -> list[Climb]:
    """Measure one case; empty where nothing climbs. Raises what `Session.ask` raises."""
    kinds: list[tuple[Stage, str, int, Callable[[int], AnyCommand]]] = [
        ("eager", "eager calls", _CALLS, lambda n: Call(case=case, which=0, times=n, delay=False))
    ]
    if graph:
        kinds.append(("soak", "replays", _CALLS, lambda n: Replay(case=case, times=n)))
        # A communication library keeps what it prepared for a capture until it is used again:
        # that cannot be told from what a candidate keeps.
        if session.ranks == 1:
            captures = ("captures", _CAPTURES, lambda n: Recapture(case=case, times=n))
            kinds.append(("capture", *captures))
    found = []
    for stage, what, times, command in kinds:

        def repeat(
            n: int, stage: Stage = stage, command: Callable[[int], AnyCommand] = command
        ) -> int:
            session.ask(command(n), stage, case, compiles=True)
            session.ask(Disturb(step="collect"), stage, case)
            return _in_use(session.ranks)

        steps = _steps(repeat, times, repeat(max(1, times // _SETTLING)))
        if _is_slope(steps):
            time.sleep(_A_WHILE)
            steps = _steps(repeat, times, repeat(1))
        if _is_slope(steps):
            found.append(Climb(stage, what, times, steps[-1]))
    return found


def _steps(repeat: Callable[[int], int], times: int, before: int) -> list[int]:
    """By how many bytes each of some rounds of repetitions climbed from `before`, up to the
    first that shows no slope."""
    steps: list[int] = []
    while len(steps) < _STEPS and _is_slope(steps):
        now = repeat(times)
        steps.append(now - before)
        before = now
    return steps


def _is_slope(steps: Sequence[int]) -> bool:
    """Whether every step goes up, and by at least half of what the greatest does."""
    return all(step > 0 and 2 * step >= max(steps) for step in steps)


def _in_use(devices: int) -> int:
    """Bytes, over the GPUs of all ranks."""
    told = [torch.cuda.mem_get_info(device) for device in range(devices)]
    return sum(total - free for free, total in told)
