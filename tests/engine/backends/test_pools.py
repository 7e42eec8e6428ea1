"""Which memory pool a capture shares on CUDA, decided without a device."""

import itertools

import pytest
import torch

from cacheon.engine.worker.backends.cuda import Cuda


class Graph:
    def __init__(self, pool: tuple[int, int], error: Exception | None = None) -> None:
        self._pool, self._error = pool, error

    def pool(self) -> tuple[int, int]:
        return self._pool

    def capture_end(self) -> None:
        if self._error is not None:
            raise self._error


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The pools to which recording was ended by hand."""
    found: list[tuple[int, int]] = []
    fresh = itertools.count(100)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, next(fresh)))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(
        torch._C, "_cuda_endAllocateToPool", lambda device, pool: found.append(pool), raising=False
    )
    return found


@pytest.fixture
def cuda() -> Cuda:
    made = Cuda.__new__(Cuda)
    made._graphs, made._broken = {}, set()
    return made


def test_a_capture_shares_the_pool_of_a_graph_that_lives(cuda: Cuda, ended: object) -> None:
    assert cuda._shared_pool() == (0, 100)
    # Nothing was captured into that one: it cannot be shared.
    assert cuda._shared_pool() == (0, 101)
    cuda._graphs[0] = Graph((0, 101))  # type: ignore[assignment]
    assert cuda._shared_pool() == cuda._shared_pool() == (0, 101)


def test_a_broken_capture_ends_the_sharing_of_its_pool(
    cuda: Cuda, ended: list[tuple[int, int]]
) -> None:
    cuda._graphs[0] = Graph((0, 7))  # type: ignore[assignment]
    broken = Graph((0, 7), RuntimeError("operation failed due to a previous error"))
    with pytest.raises(RuntimeError, match="previous error") as caught:
        try:
            raise ValueError("the candidate's own")
        finally:
            cuda._end(broken, (0, 7))  # type: ignore[arg-type]
    assert isinstance(caught.value.__context__, ValueError)
    assert ended == [(0, 7)]
    assert cuda._shared_pool() == (0, 100)
    cuda._graphs[1] = Graph((0, 100))  # type: ignore[assignment]
    assert cuda._shared_pool() == (0, 100)


def test_where_torch_ended_the_recording_itself_the_error_is_the_captures(
    cuda: Cuda, ended: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(device: int, pool: object) -> None:
        raise RuntimeError("not currently recording to mempool_id")

    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", refuse, raising=False)
    with pytest.raises(RuntimeError, match="the capture's"):
        cuda._end(Graph((0, 7), RuntimeError("the capture's")), (0, 7))  # type: ignore[arg-type]


def test_a_capture_that_ended_well_is_shared_whatever_the_candidate_raised(
    cuda: Cuda, ended: list[tuple[int, int]]
) -> None:
    cuda._graphs[0] = Graph((0, 7))  # type: ignore[assignment]
    cuda._end(Graph((0, 7)), (0, 7))  # type: ignore[arg-type]
    assert ended == []
    assert cuda._shared_pool() == (0, 7)
