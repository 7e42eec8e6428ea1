"""Operators of the candidate's own, registered past `torch.library.custom_op`."""

import warnings

import pytest
import torch

from cacheon.engine.worker.backends.recording import (
    NeedsCuda,
    Recording,
    Violation,
    answering_cuda,
    operators,
)


@pytest.fixture(autouse=True)
def _answers():
    with answering_cuda(lambda: True):
        yield


def _library(name, schema, kernel, key):
    library = torch.library.Library(f"cacheon_{name}", "DEF")
    library.define(schema)
    library.impl(schema.partition("(")[0], kernel, key)
    return library, getattr(torch.ops, f"cacheon_{name}")


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"])
@pytest.mark.parametrize(
    ("read", "rule"), [(lambda x: x.sum().item(), "CG101"), (lambda x: x.cpu(), "CG102")]
)
def test_a_python_kernel_hides_no_read(key, read, rule):
    name = f"{key}_{'cpu' in read.__code__.co_names}".lower()

    def kernel(x, out):
        read(x)

    kept, ops = _library(name, "act(Tensor x, Tensor(a!) out) -> ()", kernel, key)
    with pytest.raises(Violation) as caught:
        Recording([]).record(ops.act, torch.ones(2), torch.empty(2))
    assert caught.value.rule == rule
    del kept


def test_no_python_kernel_runs_at_replay():
    calls = []

    def twice(x, out):
        calls.append(1)
        out.copy_(x * 2)

    kept, ops = _library("twice", "act(Tensor x, Tensor(a!) out) -> ()", twice, "CPU")
    x, out = torch.ones(2), torch.empty(2)
    recording = Recording([x, out])
    recording.record(ops.act, x, out)
    x.fill_(4)
    recording.replay()
    assert out.tolist() == [8.0, 8.0]
    assert calls == [1]
    del kept


def test_an_aten_operator_that_the_candidate_replaces_hides_none():
    library = torch.library.Library("aten", "IMPL")
    # torch warns of an override once in a process, which may have been another test.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*Overriding", UserWarning)
        library.impl("erfinv", lambda x: x * x.sum().item(), "CPU")
    with pytest.raises(Violation, match="reads"):
        Recording([]).record(torch.erfinv, torch.ones(2))
    library._destroy()
    operators.KERNELS.clear()


def test_an_operator_without_python_needs_the_device(monkeypatch):
    kept, ops = _library("foreign", "act(Tensor x) -> Tensor", lambda x: x + 1, "CPU")
    monkeypatch.setattr(operators, "KERNELS", {})
    with pytest.raises(NeedsCuda, match="inside"):
        Recording([]).record(ops.act, torch.ones(2))
    del kept
