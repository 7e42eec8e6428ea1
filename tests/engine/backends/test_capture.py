"""Capture and replay: the same of every backend."""

import copy
from itertools import permutations

import pytest
import torch
from tests.engine.backends import entries
from tests.engine.backends.conftest import COUNTS
from tests.engine.backends.entries import Counted, affine, shifted
from tests.engine.backends.rig import CALLS, ROWS, UNTOUCHED, WATCHED, Rig


def test_a_replay_recomputes_on_new_values_without_python(rig: Rig) -> None:
    entry = Counted()
    rig.capture(0, entry)
    ran = entry.calls
    for _ in range(3):
        rig.refresh(0)
        rig.backend.replay(0, 1)
        assert rig.all_answered(0, [0], affine)
    assert entry.calls == ran


def test_a_deep_copy_is_a_copy_at_each_replay(rig: Rig) -> None:
    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        once, twice = copy.deepcopy([x, x])
        assert once is twice
        affine(once, out)

    rig.capture(0, entry)
    for _ in range(2):
        rig.refresh(0)
        rig.backend.replay(0, 1)
        assert rig.all_answered(0, [0], affine)


def test_a_capture_runs_the_entry_once_for_each_call(rig: Rig) -> None:
    entry = Counted()
    rig.backend.warm(rig.calls(0), affine)
    rig.backend.capture(0, rig.calls(0), entry, False)
    assert entry.calls == CALLS
    assert int(rig.counter.item()) == 0


def test_what_a_capture_added_is_counted_call_by_call(rig: Rig) -> None:
    turn = iter([affine, shifted, entries.nothing])
    rig.backend.warm(rig.calls(0), shifted)
    seen = rig.backend.capture(0, rig.calls(0), lambda x, out: next(turn)(x, out), False)
    few, more, none = seen.nodes
    assert 0 < few < more
    assert none == 0
    assert seen.suspicious == ()
    if seen.kinds:
        assert sum(seen.kinds.values()) >= few + more
    assert seen.steps == (few + more if rig.backend.name == "rehearsal" else 0)


def test_an_entry_that_does_nothing_leaves_poison_at_replay(rig: Rig) -> None:
    rig.capture(0, entries.nothing)
    rig.backend.replay(0, 1)
    assert not rig.answered(0, 0, 0, affine)
    assert bool(rig.logged(0, 0, 0).isnan().all())


def test_each_replay_of_a_burst_reads_and_writes_a_row_of_its_own(rig: Rig) -> None:
    rig.capture(0, shifted)
    rig.backend.replay(0, ROWS)
    assert rig.all_answered(0, range(ROWS), shifted)
    assert int(rig.counter.item()) == ROWS
    for call in range(CALLS):
        for row in range(ROWS):
            assert bool((rig.guards(0, call, row) == WATCHED).all())
    assert all(bool((gap == UNTOUCHED).all()) for gap in rig.gaps(0))


def test_a_burst_that_is_longer_than_the_ring_begins_it_again(rig: Rig) -> None:
    rig.capture(0, affine)
    rig.backend.replay(0, ROWS + 1)
    assert rig.all_answered(0, range(ROWS), affine)
    x, _ = rig.live(0, 0)
    assert torch.equal(x, rig.staged(0, 0)[0])
    rig.counter.zero_()
    rig.settle()
    rig.backend.replay(0, 2)
    x, _ = rig.live(0, 0)
    assert torch.equal(x, rig.staged(0, 0)[1])


def test_replays_one_by_one_go_on_where_the_last_one_ended(rig: Rig) -> None:
    rig.capture(0, affine)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)
    rig.backend.replay(0, 2)
    assert rig.all_answered(0, [0, 1, 2], affine)


def test_captures_share_memory_safely_in_any_order_of_replay(rig: Rig) -> None:
    cases = range(len(COUNTS))
    functions = [shifted, affine, shifted]
    for case in cases:
        rig.capture(case, functions[case])
    for order in permutations(cases):
        for case in cases:
            rig.refresh(case)
        for case in order:
            rig.counter.zero_()
            rig.settle()
            rig.backend.replay(case, 2)
        for case in cases:
            assert rig.all_answered(case, [0, 1], functions[case]), f"case {case} in {order}"


def test_the_same_case_again_takes_the_place_of_its_graph(rig: Rig) -> None:
    rig.capture(0, affine)
    rig.capture(0, shifted)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], shifted)


def test_an_eager_call_between_two_replays_disturbs_neither(rig: Rig) -> None:
    rig.capture(0, shifted)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], shifted)
    rig.backend.eager(rig.calls(2)[0], shifted, 2, True)
    assert rig.answered(2, 0, 0, shifted)
    rig.refresh(0)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], shifted)


def test_a_sibling_is_no_graph_of_its_case_and_may_be_destroyed(rig: Rig) -> None:
    rig.capture(0, affine)
    rig.capture(0, shifted, sibling=True)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)
    rig.backend.drop_siblings()
    rig.refresh(0)
    rig.backend.replay(0, 2)
    assert rig.all_answered(0, [0, 1], affine)
    rig.backend.drop_siblings()


@pytest.mark.parametrize("times", [1, 3])
def test_recapture_captures_again_and_again_and_keeps_nothing(rig: Rig, times: int) -> None:
    rig.capture(0, affine)
    entry = Counted(shifted)
    rig.backend.recapture(rig.calls(0), entry, times)
    assert entry.calls == CALLS * times
    assert int(rig.counter.item()) == 0
    rig.refresh(0)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)


def test_an_entry_can_tell_that_it_is_being_captured(rig: Rig) -> None:
    said: list[bool] = []

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        said.append(torch.cuda.is_current_stream_capturing())
        affine(x, out)

    rig.backend.warm(rig.calls(0)[:1], entry)
    rig.backend.eager(rig.calls(0)[0], entry, 1, False)
    assert said == [False] * 3
    rig.backend.capture(0, rig.calls(0), entry, False)
    assert said[3:] == [True] * CALLS
    rig.backend.eager(rig.calls(0)[0], entry, 1, False)
    assert said[-1] is False


def test_a_fixed_value_shows_as_soon_as_values_change(rig: Rig) -> None:
    first: list[torch.Tensor] = []

    def stale(x: torch.Tensor, out: torch.Tensor) -> None:
        """Copies what it was first called with."""
        if not first:
            first.append(x.clone())
        out.copy_(first[0])

    rig.backend.warm(rig.calls(0), stale)
    rig.backend.capture(0, rig.calls(0), stale, False)
    held = first[0].clone()
    rig.refresh(0)
    rig.backend.replay(0, 1)
    assert torch.equal(rig.logged(0, 2, 0), held)
    assert not torch.equal(held, rig.staged(0, 2)[0])
