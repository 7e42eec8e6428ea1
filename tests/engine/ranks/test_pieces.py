"""A slab of several allocations: what collectives export lies in one of its own."""

import pytest
import torch
from tests.engine.numerics.test_ranks import small_cases
from tests.engine.ranks.test_group import one_case

from cacheon.contract.slots import slot
from cacheon.engine.grader.layout import lay
from cacheon.engine.plan import TensorRef
from cacheon.engine.slab import GUARD, Slab


def pieces() -> tuple[Slab, list[torch.Tensor]]:
    """Three allocations, of 1024, 2048 and 1024 bytes."""
    blocks = [torch.zeros(size, dtype=torch.uint8) for size in (1024, 2048, 1024)]
    addresses = [block.data_ptr() for block in blocks]
    return Slab.of_pieces((0, 1024, 3072), addresses, 4096, torch.device("cpu")), blocks


def test_a_tensor_lies_in_the_allocation_that_holds_it() -> None:
    slab, blocks = pieces()
    for offset, block, at in (
        (0, 0, 0),
        (1020, 0, 1020),
        (1024, 1, 0),
        (3068, 1, 2044),
        (3072, 2, 0),
    ):
        ref = TensorRef(offset=offset, dtype="float32", shape=(1,), strides=(1,))
        slab.tensor(ref).fill_(float("nan"))
        assert bool(blocks[block][at : at + 4].any())
        blocks[block].zero_()


@pytest.mark.parametrize(("offset", "nbytes"), [(1020, 8), (0, 4096), (4092, 8), (-4, 4), (8, -4)])
def test_none_spans_two_or_leaves_the_slab(offset: int, nbytes: int) -> None:
    slab, _ = pieces()
    with pytest.raises(ValueError, match="are not inside"):
        slab.raw(offset, nbytes)


def test_every_input_and_output_begins_an_allocation() -> None:
    cases = one_case()
    layout = lay(slot("collective.all_reduce"), cases, cases[0], (4,))
    starts = set(layout.starts)
    assert layout.starts[0] == 0 and layout.starts == tuple(sorted(starts))
    calls = [*layout.plan.cases[0].warm, *layout.plan.cases[0].eager]
    calls += [*layout.plan.cases[0].captured]
    assert layout.plan.larger is not None
    calls.append(layout.plan.larger)
    for call in calls:
        assert call.tensors["x"].offset in starts
        assert call.tensors["out"].offset - GUARD in starts


def test_whatever_is_copied_lies_in_one_allocation() -> None:
    cases = small_cases("collective.ar_residual_rmsnorm", "float32", 2, 1)[:1]
    layout = lay(slot("collective.ar_residual_rmsnorm"), cases, None, (4,))
    ends = [*layout.starts[1:], layout.nbytes]
    spans = [*zip(layout.starts, ends, strict=True)]

    def inside(start: int, nbytes: int) -> bool:
        return any(low <= start and start + nbytes <= high for low, high in spans)

    for call in (*layout.plan.cases[0].eager, *layout.plan.cases[0].captured):
        for copy in (*call.producers, *call.consumers):
            assert inside(copy.span, copy.nbytes)
            assert inside(copy.ring, (call.rows - 1) * copy.pitch + copy.nbytes)
    assert inside(layout.plan.counter, 16)
