"""Habits of honest GPU code that a build for the CPU would refuse, and hidden Python."""

import ctypes
import gc
import mmap

import pytest
import torch

from cacheon.engine.worker.backends.recording import (
    NeedsCuda,
    Recording,
    Violation,
    answering_cuda,
)


@pytest.fixture(autouse=True)
def _answers():
    with answering_cuda(lambda: True):
        yield


def test_choosing_the_device_marking_ranges_and_lending_to_a_stream_are_inert():
    x, out = torch.randn(4), torch.empty(4)

    def entry(x, out):
        torch.cuda.nvtx.range_push("entry")
        with torch.cuda.device(x.device):
            x.record_stream(torch.cuda.current_stream())
            out.copy_(x)
        torch.cuda.nvtx.range_pop()

    recording = Recording([x, out])
    recording.record(entry, x, out)
    x.normal_()
    recording.replay()
    assert torch.equal(out, x)


@pytest.mark.parametrize("name", ["empty", "zeros", "ones"])
def test_pinned_memory_needs_the_device(name):
    with pytest.raises(NeedsCuda, match="pinned"):
        getattr(torch, name)(4, pin_memory=True)


def test_a_compiled_function_runs_as_it_is_written():
    @torch.compile(mode="max-autotune")
    def doubled(x):
        return x * 2

    assert torch.equal(torch.compile(doubled)(torch.ones(4)), torch.full((4,), 2.0))
    with pytest.raises(Violation, match="item"):
        Recording([]).record(torch.compile(lambda x: x.sum().item()), torch.ones(4))


def test_inference_mode_hides_no_shape():
    def entry(x):
        with torch.inference_mode():
            torch.where(x > 0)

    with pytest.raises(Violation) as caught:
        Recording([]).record(entry, torch.ones(4))
    assert caught.value.rule == "CG103"


def test_a_custom_operator_hides_no_python():
    calls = []

    @torch.library.custom_op("cacheon_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x * 2

    @torch.library.custom_op("cacheon_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item()

    x, out = torch.ones(4), torch.empty(4)
    recording = Recording([x, out])
    recording.record(lambda x, out: out.copy_(twice(x)), x, out)
    asked = len(calls)
    x.fill_(3)
    recording.replay()
    assert out.tolist() == [6.0] * 4
    assert len(calls) == asked
    with pytest.raises(Violation) as caught:
        Recording([]).record(scaled, x)
    assert caught.value.rule == "CG101"


def test_memory_that_torch_did_not_allocate_outlives_the_tensor_over_it():
    mapping = mmap.mmap(-1, 4096)
    address = torch.frombuffer(mapping, dtype=torch.uint8).data_ptr()

    def over(offset):
        block = (ctypes.c_ubyte * 16).from_address(address + offset)
        return torch.frombuffer(block, dtype=torch.float32)

    cache = {"weight": over(0)}
    x, out = torch.ones(4), torch.empty(4)
    recording = Recording([x, out])
    recording.record(lambda x, out: torch.mul(x, cache["weight"], out=out), x, out)
    cache.clear()
    gc.collect()
    over(0).fill_(5)
    recording.replay()
    assert out.tolist() == [5.0] * 4
