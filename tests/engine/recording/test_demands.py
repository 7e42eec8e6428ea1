"""What an honest candidate for a GPU says on a machine without one: no failure."""

import importlib.util
import sys

import pytest
import torch

from cacheon.engine.worker.backends.recording import NeedsCuda, answering_cuda
from cacheon.engine.worker.demands import demands_cuda

HEADER = "import torch\ndef entry(x):\n"

DEMANDS = {
    "assert": "    assert x.is_cuda, 'only CUDA'\n",
    "device type": "    if x.device.type != 'cuda':\n        raise ValueError('only CUDA')\n",
    "availability": "    if not torch.cuda.is_available():\n        raise RuntimeError('none')\n",
    "device by name": "    assert str(x.device).startswith('cuda')\n",
    "nested": "    for y in [x]:\n        if not y.is_cuda:\n            raise RuntimeError(\n"
    "                'none'\n            )\n",
}

OTHERS = {
    "a shape": "    assert x.shape[0] == 1\n",
    "another line": "    x.is_cuda\n    raise RuntimeError('so sorry')\n",
    "called": "    if not x.is_cuda:\n        int('so sorry')\n",
    "after an if": "    if not x.is_cuda:\n        pass\n    raise RuntimeError('so sorry')\n",
}


def _raised(tmp_path, body):
    file = tmp_path / "kernel.py"
    file.write_text(HEADER + body)
    spec = importlib.util.spec_from_file_location("kernel", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises((AssertionError, RuntimeError, ValueError)) as caught:
        module.entry(torch.ones(2))
    return caught.value


@pytest.mark.parametrize("name", DEMANDS)
def test_a_test_for_a_device_is_a_demand(tmp_path, name):
    error = _raised(tmp_path, DEMANDS[name])
    assert demands_cuda(error, str(tmp_path))
    assert not demands_cuda(error, str(tmp_path / "elsewhere"))
    assert not demands_cuda(error, "")


@pytest.mark.parametrize("name", OTHERS)
def test_another_exception_is_none(tmp_path, name):
    assert not demands_cuda(_raised(tmp_path, OTHERS[name]), str(tmp_path))


@pytest.mark.parametrize(
    "wish",
    [
        lambda: torch.accelerator.current_stream(),
        lambda: torch.accelerator.synchronize(),
        lambda: torch.Stream("cuda"),
        lambda: torch.Event("cuda"),
    ],
)
def test_an_accelerator_is_asked_of_the_device(wish):
    with answering_cuda(lambda: True), pytest.raises(NeedsCuda):
        wish()


def test_extensions_with_cuda_sources_need_the_device(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.utils.cpp_extension", raising=False)
    with answering_cuda(lambda: True):
        builder = importlib.import_module("torch.utils.cpp_extension")
        for wish in (
            lambda: builder.load_inline("a", "", cuda_sources="__global__"),
            lambda: builder.load("a", ["a.cpp", "a.cu"]),
            lambda: builder.CUDAExtension("a", ["a.cu"]),
        ):
            with pytest.raises(NeedsCuda, match="CUDA sources"):
                wish()


def test_what_only_a_compiled_kernel_has_needs_the_device():
    pytest.importorskip("triton")
    interpreter = importlib.import_module("triton.runtime.interpreter")
    libdevice = importlib.import_module("triton.language.extra.libdevice")
    with answering_cuda(lambda: True):
        with pytest.raises(NeedsCuda, match="tanh"):
            libdevice.tanh(1.0)
        with pytest.raises(NeedsCuda, match="PTX"):
            interpreter.interpreter_builder.create_inline_asm()
    assert libdevice.tanh(1.0) is None
