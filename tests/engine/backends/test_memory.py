"""What lives as long as a graph, what a graph must not outlive, and canaries."""

import gc

import pytest
import torch
from tests.engine.backends.conftest import COUNTS
from tests.engine.backends.entries import Workspace, affine, shifted
from tests.engine.backends.rig import Rig

from cacheon.engine.worker.backends.canaries import Canaries
from cacheon.engine.worker.backends.port import Backend, Failure


def test_honest_graphs_live_through_the_perturbation(rig: Rig) -> None:
    """The course's own order: a sibling, garbage, a larger call, the sibling destroyed, the
    canary, a replay, a look at the canary."""
    backend = rig.backend
    for case in range(len(COUNTS)):
        rig.capture(case, shifted)
    rig.capture(0, shifted, sibling=True)
    backend.collect()
    backend.eager(rig.calls(2)[0], shifted, 1, True)
    backend.drop_siblings()
    backend.refill()
    for case in range(len(COUNTS)):
        rig.refresh(case)
        backend.replay(case, 2)
        assert rig.all_answered(case, [0, 1], shifted)
        backend.inspect()
    backend.release()
    for case in range(len(COUNTS)):
        rig.refresh(case)
        backend.replay(case, 1)
        assert rig.all_answered(case, [0], shifted)


def test_a_graph_holds_what_was_made_while_it_was_captured(rig: Rig) -> None:
    kept: dict[int, torch.Tensor] = {}

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        kept[x.data_ptr()] = torch.mul(x, 2.0)
        torch.add(kept[x.data_ptr()], 1.0, out=out)

    rig.capture(0, entry)
    kept.clear()
    rig.backend.collect()
    rig.backend.refill()
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)
    rig.backend.inspect()


def test_memory_kept_from_the_warm_up_may_be_captured(rig: Rig) -> None:
    entry = Workspace()
    rig.capture(0, entry)
    rig.backend.collect()
    rig.backend.refill()
    rig.backend.replay(0, 2)
    assert rig.all_answered(0, [0, 1], affine)
    rig.backend.inspect()


def test_a_replay_through_memory_that_was_freed_is_told(rig: Rig) -> None:
    """At the replay, or by the canary that took the freed memory: CG302 in both cases."""
    entry = Workspace()
    rig.capture(0, entry)
    entry.kept = None
    gc.collect()
    rig.backend.refill()
    with pytest.raises(Failure) as caught:
        rig.backend.replay(0, 1)
        rig.backend.inspect()
    assert caught.value.rule == "CG302"
    assert not caught.value.needs_cuda
    assert not rig.backend.is_lost(caught.value)
    # A broken canary was filled again, or none was broken.
    rig.backend.inspect()


def test_inspecting_and_releasing_without_canaries_is_no_error(backend: Backend) -> None:
    backend.inspect()
    backend.release()
    backend.drop_siblings()
    backend.collect()


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def canaries(request: pytest.FixtureRequest) -> Canaries:
    return Canaries(request.param)


def test_untouched_canaries_say_nothing(canaries: Canaries) -> None:
    canaries.take([512, 4096])
    canaries.take([1 << 20])
    canaries.inspect()
    canaries.inspect()


@pytest.mark.parametrize("place", [0, 511])
def test_one_written_byte_is_found_and_mended(canaries: Canaries, place: int) -> None:
    canaries.take([4096, 512, 4096])
    canaries._blocks[1].view(torch.uint8)[place] = 0
    with pytest.raises(Failure, match="512 bytes") as caught:
        canaries.inspect()
    assert caught.value.rule == "CG302"
    canaries.inspect()


def test_released_canaries_are_nobodys(canaries: Canaries) -> None:
    canaries.take([512])
    broken = canaries._blocks[0].zero_()
    canaries.release()
    canaries.inspect()
    assert broken.nbytes == 512
