"""The backends, and a rig over each."""

from collections.abc import Callable, Iterator

import pytest
import torch
from tests.engine.backends.rig import Rig

from cacheon.engine.worker.backends import choose
from cacheon.engine.worker.backends.port import Backend
from cacheon.engine.worker.backends.rehearsal import Rehearsal

COUNTS = (1024, 256, 4096)
"""Floats of the three cases of a rig, neither rising nor falling."""


@pytest.fixture(params=["rehearsal", pytest.param("cuda", marks=pytest.mark.gpu)])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[], Backend]]:
    """Makes backends of one kind; what they patched is undone in the end."""
    made: list[Backend] = []

    def one() -> Backend:
        made.append(choose(on_cpu=request.param == "rehearsal"))
        return made[-1]

    if request.param == "cuda":
        # Blocks that earlier tests left in the cache would be refilled first.
        torch.cuda.empty_cache()
    yield one
    while made:
        backend = made.pop()
        if isinstance(backend, Rehearsal):
            # A worker never leaves this; a process that goes on to other tests must.
            backend._answers.__exit__(None, None, None)


@pytest.fixture
def backend(make: Callable[[], Backend]) -> Backend:
    return make()


@pytest.fixture
def rig(backend: Backend) -> Rig:
    return Rig(backend, COUNTS)
