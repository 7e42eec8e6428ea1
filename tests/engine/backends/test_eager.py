"""Slabs, warm-up and the eager sandwich: the same of every backend."""

from collections.abc import Callable

import pytest
import torch
from tests.engine.backends import entries
from tests.engine.backends.entries import Counted, affine
from tests.engine.backends.rig import CALLS, GUARD, POISON, WATCHED, Rig

from cacheon.engine.worker.backends.port import Backend


def test_a_slab_is_memory_of_the_backends_device(backend: Backend) -> None:
    slab, handle = backend.make_slab(4096, -1)
    assert slab.nbytes == 4096
    assert slab.address % 256 == 0
    assert slab.device.type == ("cuda" if backend.name == "cuda" else "cpu")
    assert len(handle) == (64 if backend.name == "cuda" else 0)
    slab.raw(0, 4096).fill_(7)
    assert int(slab.raw(4000, 96).sum(dtype=torch.int64)) == 7 * 96
    with pytest.raises(ValueError, match="not inside"):
        slab.raw(4000, 97)


def test_warm_up_calls_the_entry_twice_with_each_call(rig: Rig) -> None:
    seen: list[tuple[int, int]] = []

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        seen.append((x.data_ptr(), out.data_ptr()))
        affine(x, out)

    rig.backend.warm(rig.calls(0), entry)
    assert len(seen) == 2 * CALLS
    assert seen[::2] == seen[1::2]
    assert len(set(seen)) == CALLS
    for call in range(CALLS):
        x, out = rig.live(0, call)
        assert torch.equal(x, rig.staged(0, call)[0])
        assert torch.equal(out, x * 2 + 1)


def test_a_producer_writes_before_and_a_consumer_reads_after(rig: Rig) -> None:
    returned = rig.backend.eager(rig.calls(0)[1], affine, 1, True)
    assert returned is False
    assert rig.answered(0, 1, 0, affine)
    assert bool((rig.guards(0, 1, 0) == WATCHED).all())
    x, out = rig.live(0, 1)
    assert torch.equal(x, rig.staged(0, 1)[0])
    assert torch.equal(out, rig.logged(0, 1, 0))


def test_an_eager_call_touches_nothing_else(rig: Rig) -> None:
    before = rig.slab.raw(0, rig.slab.nbytes).clone()
    rig.backend.eager(rig.calls(0)[1], affine, 1, False)
    changed = (rig.slab.raw(0, rig.slab.nbytes) != before).nonzero().flatten()
    place = rig.places[0][1]
    with_guards = 4 * place.count + 2 * GUARD
    allowed = torch.zeros(rig.slab.nbytes, dtype=torch.bool, device=rig.device)
    for start, nbytes in (
        (place.x, 4 * place.count),
        (place.guarded, with_guards),
        (place.logs, with_guards),
    ):
        allowed[start : start + nbytes] = True
    assert changed.numel() > 0
    assert bool(allowed[changed].all())


def test_a_call_that_writes_nothing_leaves_poison_in_the_log(rig: Rig) -> None:
    rig.backend.eager(rig.calls(0)[0], entries.nothing, 1, True)
    assert bool((rig.logged(0, 0, 0).view(torch.uint8) == POISON).all())


@pytest.mark.parametrize("times", [1, 3])
def test_the_entry_runs_as_often_as_asked(rig: Rig, times: int) -> None:
    entry = Counted()
    rig.backend.eager(rig.calls(0)[0], entry, times, False)
    assert entry.calls == times
    assert rig.answered(0, 0, 0, affine)


def test_whether_the_entry_ever_returned_something_is_told(rig: Rig) -> None:
    turns = iter([None, torch.zeros(1), None])

    def sometimes(x: torch.Tensor, out: torch.Tensor) -> object:
        return next(turns)

    assert rig.backend.eager(rig.calls(0)[0], sometimes, 3, False) is True
    assert rig.backend.eager(rig.calls(0)[0], affine, 1, False) is False


def test_every_call_gets_tensor_objects_of_its_own(rig: Rig) -> None:
    kept: list[torch.Tensor] = []

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        kept.extend((x, out))
        affine(x, out)

    rig.backend.eager(rig.calls(0)[0], entry, 2, False)
    rig.backend.warm(rig.calls(0)[:1], entry)
    assert len({id(tensor) for tensor in kept}) == len(kept) == 8
    assert len({tensor.data_ptr() for tensor in kept}) == 2
    assert all(tensor.storage_offset() == 0 for tensor in kept)


@pytest.mark.parametrize("stage", ["warm", "eager"])
def test_an_exception_comes_through_and_the_backend_goes_on(rig: Rig, stage: str) -> None:
    call = rig.calls(0)[0]
    acts: dict[str, Callable[[], object]] = {
        "warm": lambda: rig.backend.warm([call], entries.raising),
        "eager": lambda: rig.backend.eager(call, entries.raising, 1, True),
    }
    with pytest.raises(ValueError, match="the entry's own words") as caught:
        acts[stage]()
    assert not rig.backend.is_lost(caught.value)
    rig.refresh(0)
    rig.backend.eager(call, affine, 1, True)
    assert rig.answered(0, 0, 0, affine)


def test_reading_a_value_on_the_host_is_no_fault_of_an_eager_call(rig: Rig) -> None:
    rig.backend.warm(rig.calls(0), entries.reading)
    rig.backend.eager(rig.calls(0)[0], entries.waiting, 1, True)
    assert rig.answered(0, 0, 0, affine)
