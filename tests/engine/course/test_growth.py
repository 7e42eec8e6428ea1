"""When device memory counts as climbing: a slope, and no single step, whoever made it."""

from collections.abc import Iterator
from typing import Any

import pytest

from cacheon.engine.grader.probes import growth

MIB = 1 << 20


class Session:
    """Takes every command and does nothing."""

    ranks = 1

    def ask(self, *_: object, **__: object) -> tuple[()]:
        return ()


def climbs(monkeypatch: pytest.MonkeyPatch, counts: list[int]) -> list[growth.Climb]:
    """What is found where the driver's count, in MiB, reads so, the last for ever."""

    def reading() -> Iterator[int]:
        yield from counts
        while True:
            yield counts[-1]

    values = reading()
    monkeypatch.setattr(growth, "_in_use", lambda _: next(values) * MIB)
    monkeypatch.setattr(growth, "_A_WHILE", 0.0)
    session: Any = Session()
    return growth.climbs(session, 0, graph=False)


@pytest.mark.parametrize(
    "counts",
    [
        [100],
        [100, 120],
        [100, 120, 140],
        [100, 120, 120, 140, 160],
        # Somebody else fills the GPU, and then less and less.
        [100, 900, 940, 950],
        [100, 102, 400, 402],
        [100, 90, 110, 130, 150],
        # A neighbour loads its kernels, and is done.
        [100, 120, 140, 160],
        [100, 120, 140, 160, 400, 420, 440],
    ],
)
def test_steps_that_end_are_no_slope(monkeypatch: pytest.MonkeyPatch, counts: list[int]) -> None:
    assert climbs(monkeypatch, counts) == []


@pytest.mark.parametrize(
    "counts",
    [
        [100, 120, 140, 160, 161, 180, 200, 220],
        [100, 102, 106, 110, 110, 112, 116, 120],
        [100, 120, 140, 160, 900, 910, 925, 945],
    ],
)
def test_three_alike_in_a_row_are_if_they_are_so_again(
    monkeypatch: pytest.MonkeyPatch, counts: list[int]
) -> None:
    (climb,) = climbs(monkeypatch, counts)
    assert (climb.stage, climb.what, climb.nbytes) == (
        "eager",
        "eager calls",
        (counts[7] - counts[6]) * MIB,
    )
