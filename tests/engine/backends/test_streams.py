"""What only real streams and real graphs can show: CUDA alone."""

import gc
from collections.abc import Callable, Iterator

import pytest
import torch
from tests.engine.backends.entries import (
    affine,
    forked_and_joined,
    shifted,
    unforked,
    unjoined,
)
from tests.engine.backends.rig import CALLS, ROWS, Rig

from cacheon.engine.worker.backends import choose

pytestmark = pytest.mark.gpu


@pytest.fixture
def cuda_rig() -> Iterator[Rig]:
    torch.cuda.empty_cache()
    yield Rig(choose(on_cpu=False), [1024, 4096])
    torch.cuda.synchronize()


def test_warm_up_eager_calls_and_captures_use_streams_of_their_own(cuda_rig: Rig) -> None:
    streams: list[int] = []

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        streams.append(torch.cuda.current_stream().cuda_stream)
        affine(x, out)

    call = cuda_rig.calls(0)[0]
    cuda_rig.backend.warm([call], entry)
    cuda_rig.backend.eager(call, entry, 1, False)
    cuda_rig.backend.capture(0, cuda_rig.calls(0), entry, False)
    warm, eager, captured = streams[0], streams[2], streams[3]
    assert len({warm, eager, captured, torch.cuda.default_stream().cuda_stream}) == 4
    assert streams == [warm, warm, eager, *[captured] * CALLS]


@pytest.mark.parametrize("entry", [unforked, unjoined])
def test_work_beside_the_callers_stream_is_no_answer(
    cuda_rig: Rig, entry: Callable[..., object]
) -> None:
    cuda_rig.backend.warm(cuda_rig.calls(0), entry)
    for call in range(CALLS):
        cuda_rig.refresh(0)
        cuda_rig.backend.eager(cuda_rig.calls(0)[call], entry, 1, True)
        assert not cuda_rig.answered(0, call, 0, affine)


def test_what_was_never_joined_arrives_after_the_snapshot(cuda_rig: Rig) -> None:
    cuda_rig.backend.warm(cuda_rig.calls(0), unjoined)
    cuda_rig.refresh(0)
    cuda_rig.backend.eager(cuda_rig.calls(0)[0], unjoined, 1, True)
    x, out = cuda_rig.live(0, 0)
    assert torch.equal(out, x * 2 + 1)
    assert bool(cuda_rig.logged(0, 0, 0).isnan().all())


def test_work_that_is_forked_and_joined_is_an_answer(cuda_rig: Rig) -> None:
    cuda_rig.capture(0, forked_and_joined)
    cuda_rig.backend.eager(cuda_rig.calls(0)[0], forked_and_joined, 1, True)
    assert cuda_rig.answered(0, 0, 0, affine)
    cuda_rig.refresh(0)
    cuda_rig.backend.replay(0, ROWS)
    assert cuda_rig.all_answered(0, range(ROWS), affine)


def test_a_capture_that_leaves_work_unjoined_fails_and_the_backend_goes_on(cuda_rig: Rig) -> None:
    cuda_rig.capture(1, shifted)
    cuda_rig.backend.warm(cuda_rig.calls(0), unjoined)
    with pytest.raises(RuntimeError, match="unjoined") as caught:
        cuda_rig.backend.capture(0, cuda_rig.calls(0), unjoined, False)
    assert not cuda_rig.backend.is_lost(caught.value)
    cuda_rig.refresh(1)
    cuda_rig.backend.replay(1, 1)
    assert cuda_rig.all_answered(1, [0], shifted)
    cuda_rig.capture(0, affine)
    cuda_rig.backend.replay(0, 1)
    assert cuda_rig.all_answered(0, [0], affine)


def test_a_backend_that_nobody_holds_gives_its_graphs_memory_back() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    backend = choose(on_cpu=False)
    rig = Rig(backend, [1 << 20])
    rig.capture(0, shifted)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() > before
    del rig, backend
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() <= before
