"""Writes to the examiner's memory that no output of this call stands in."""

from contextlib import suppress

import pytest
import torch

from cacheon.engine.worker.backends.recording import Fence, Fenced, Recording, Span, Violation


@pytest.fixture
def slab():
    """x, out and the output of another call, in one piece of memory."""
    memory = torch.zeros(12)
    begin = memory.data_ptr()
    out, other = Span(begin + 16, begin + 32), Span(begin + 32, begin + 48)
    fence = Fence(Span(begin, begin + 48), [out], [out, other])
    return fence, memory[:4], memory[4:8], memory[8:]


BREACHES = {
    "input": ("CG202", lambda x, out, other: x.mul_(2)),
    "view of an input": ("CG202", lambda x, out, other: x[1:].zero_()),
    "out=": ("CG202", lambda x, out, other: torch.mul(out, out, out=x)),
    "foreach": ("CG202", lambda x, out, other: torch._foreach_add_([out, x], 1)),
    "other output": ("CG205", lambda x, out, other: other.copy_(x)),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_write_past_the_fence_is_refused(slab, name):
    fence, x, out, other = slab
    rule, entry = BREACHES[name]
    with pytest.raises(Violation) as recorded:
        Recording([x, out], fence).record(entry, x, out, other)
    with pytest.raises(Violation) as eager, Fenced(fence):
        entry(x, out, other)
    assert recorded.value.rule == eager.value.rule == rule


def test_a_breach_that_is_caught_is_remembered(slab):
    fence, x, _, _ = slab
    with Fenced(fence) as fenced, suppress(Violation):
        x.zero_()
    assert fenced.first is not None
    assert fenced.first.rule == "CG202"


def test_outputs_and_memory_of_its_own_may_be_written(slab):
    fence, x, out, _ = slab

    def entry():
        work = x.clone().add_(1)
        x.view(2, 2).resize_as_(x.view(2, 2))
        out[1:3].copy_(work[1:3])

    with Fenced(fence):
        entry()
    Recording([x, out], fence).record(entry)
    assert out.tolist() == [0, 1, 1, 0]
