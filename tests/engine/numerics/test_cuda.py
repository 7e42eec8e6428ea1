"""On a GPU nothing but one transfer makes the host wait, and draws repeat themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from cacheon.contract.slots import SLOTS
from cacheon.engine.grader.compare import measure
from cacheon.engine.grader.compare.blocks import measure_blocks
from cacheon.engine.grader.compare.cells import measure_cells
from cacheon.engine.grader.draws import poison_inputs

from .cases import NAMES, drawn, expected, key_of, published_cases

pytestmark = pytest.mark.gpu


@contextmanager
def no_waiting() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_draws_references_and_measures_never_wait_for_the_device(name: str) -> None:
    slot = SLOTS[name]
    for case in published_cases(name, "bfloat16", "cuda"):
        right = expected(case, drawn(case, 1, 0, device="cuda"))
        with no_waiting():
            for extreme in ("any", "minimal", "maximal"):
                inputs = drawn(case, 1, 1, extreme, device="cuda")
            poison_inputs(slot, case, key_of(case, 1, 1), "cuda")
            right = expected(case, inputs)
            answers = right.to(torch.bfloat16).expand(3, *right.shape)
            if slot.correctness.rule == "topk_overlap":
                measure_blocks(right[None], answers, slot.correctness.k)
            else:
                measure_cells(right[None], answers, "bfloat16")
        found, _ = measure(slot, case, right.expand(3, *right.shape), answers)
        assert all(one.ok for one in found), (case.label, found)


@pytest.mark.parametrize("name", NAMES)
def test_draws_repeat_themselves_on_a_gpu(name: str) -> None:
    for case in published_cases(name, "float16", "cuda"):
        one, other = (drawn(case, 1, 1, device="cuda") for _ in range(2))
        assert all(torch.equal(one[tensor], other[tensor]) for tensor in one)


def test_float32_products_are_exact_where_the_process_asked_for_tf32() -> None:
    case = next(published_cases("moe.fused_experts", "float32", "cuda"))
    inputs = drawn(case, 1, 1, device="cuda")
    exact = expected(case, inputs)
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("cacheon.engine.grader.references.precision.PRODUCTS", 0)
            rounded = expected(case, inputs)
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded.double(), exact, rtol=1e-5, atol=1e-5)
