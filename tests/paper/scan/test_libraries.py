"""Sources that are no bundle: only what takes tensors or launches kernels is judged."""

from collections.abc import Mapping

import pytest

from cacheon.scan.libraries import scan_sources
from cacheon.scan.sources import module_of

HEAD = """\
import torch
import triton
import triton.language as tl
from torch import Tensor
from typing import List, Optional, Sequence


@triton.jit
def k(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr))


"""


def rules(source: str, files: Mapping[str, str] | None = None) -> list[str]:
    modules = [
        module_of(text.encode(), path, path)
        for path, text in {"m.py": HEAD + source, **(files or {})}.items()
    ]
    return [finding.rule for finding in scan_sources(modules)]


@pytest.mark.parametrize(
    "annotation",
    [
        "Tensor",
        "torch.Tensor",
        "'torch.Tensor'",
        "'Tensor'",
        "Tensor | None",
        "Optional[torch.Tensor]",
    ],
)
def test_a_function_that_takes_tensors_is_judged(annotation: str) -> None:
    assert rules(f"def f(x: {annotation}):\n    return x.item()\n") == ["CG101"]


@pytest.mark.parametrize("annotation", ["list[Tensor]", "List[torch.Tensor]", "Sequence[Tensor]"])
def test_a_list_of_tensors_is_one(annotation: str) -> None:
    source = f"def f(y: Tensor, xs: {annotation}):\n    return [x.item() for x in xs]\n"
    assert rules(source) == ["CG101"]


@pytest.mark.parametrize(
    "signature",
    [
        "x",
        "x: int",
        "x: object",
        "x: list[int], y: Tensor",
        "x: dict[str, Tensor]",
        "x: cute.Tensor",
        "x: Tensor | int",
        "x: 'numpy.ndarray'",
        "x_cpu: Tensor, x=3",
        "host_x: Tensor, x: float = 1.0",
    ],
)
def test_what_may_be_no_tensor_of_the_device_is_not(signature: str) -> None:
    assert rules(f"def f({signature}):\n    return x.item(), x_cpu.item(), host_x.item()\n") == []


def test_a_function_that_launches_a_kernel_is_judged() -> None:
    source = "def f(x, out):\n    k[(1,)](x, torch.zeros(4))\n    torch.cuda.synchronize()\n"
    assert rules(source) == ["CG102", "CG105"]
    assert rules("def f(x, out):\n    x[(1,)](out)\n    torch.cuda.synchronize()\n") == []


def test_methods_are_judged_and_constructors_are_not() -> None:
    source = """
class Norm(torch.nn.Module):
    def __init__(self, x: Tensor):
        self.scale = x.item()
        self.space = None

    @property
    def width(self) -> int:
        return 3

    def forward(self, x: Tensor, device: torch.device):
        if self.space is None or self.space.numel() < x.numel():
            self.space = torch.empty(x.numel(), device=device)
        return x.item() * self.width

    @staticmethod
    def apply(ctx, x: Tensor):
        ctx.save_for_backward(x)
        return x.tolist()

    async def later(self, x: Tensor):
        return x
"""
    assert rules(source) == ["CG302", "CG101", "CG101"]


def test_what_belongs_to_a_bundle_is_not_judged() -> None:
    source = """
import os
import subprocess

_KEPT = []


def f(x: Tensor, out: Tensor):
    x.mul_(2)
    _KEPT.append(x)
    if torch.cuda.is_current_stream_capturing():
        out.copy_(x)
    os.environ["A"] = "1"
    subprocess.run(["true"])
"""
    assert rules(source) == []


def test_functions_of_the_device_are_left_alone() -> None:
    source = """
@triton.autotune(configs=[], key=[])
@triton.jit
def k2(x: Tensor):
    if x:
        return


@DECORATORS[0]
def f(x):
    pass


@cute.kernel
def k3(x: Tensor):
    if x:
        return
"""
    assert rules(source) == []


def test_comments_are_heeded_and_cuda_in_strings_is_read() -> None:
    source = 'TEXT = """\n__global__ void k();\nvoid f() { k<<<1, 2>>>(); }\n"""\n'
    source += "X = 1  # cacheon: ignore\n"
    assert rules(source) == ["CG401", "CG808"]


def test_a_helper_in_another_module_is_followed() -> None:
    source = "from other import peak\n\n\ndef f(x: Tensor):\n    return peak(x)\n"
    assert rules(source, {"other.py": "def peak(t):\n    return t.amax().item()\n"}) == ["CG101"]


@pytest.mark.parametrize(
    "name", ["plan", "prepare_weights", "attention_reference", "_validate", "to_cpu"]
)
def test_what_runs_beside_the_path_is_judged_where_the_path_calls_it(name: str) -> None:
    aside = f"def {name}(x: Tensor):\n    return x.item()\n\n\n"
    assert rules(aside) == []
    assert rules(aside + f"def run(x: Tensor):\n    return {name}(x)\n") == ["CG101"]


def test_files_beside_the_path_are_left_out_unless_asked_about_alone() -> None:
    source = "from torch import Tensor\n\n\ndef f(x: Tensor):\n    return x.item()\n"
    assert rules("", {"tests/test_f.py": source, "benchmarks/f.py": source}) == []
    alone = module_of(source.encode(), "test_f.py", "test_f.py")
    assert [finding.rule for finding in scan_sources([alone])] == ["CG101"]


def test_a_kernel_of_another_compiler_made_in_the_call_is_let_be() -> None:
    source = (
        "import cute\n\n\ndef f(x: Tensor):\n    @cute.jit\n    def inner(t):\n        pass\n"
        "    return inner(x)\n"
    )
    assert rules(source) == []
    assert rules('TEXT = "__global__ void k(); as in <<<>>>"\n') == []
    assert rules('TEXT = "never launch by <<<grid, block>>>, which is not captured"\n') == []


def test_tuning_on_the_path_is_warm_up() -> None:
    source = (
        "def tune_blocks(x: Tensor):\n    torch.cuda.synchronize()\n\n\n"
        "def f(x: Tensor):\n    tune_blocks(x)\n"
    )
    assert rules(source) == []
    assert rules(source.replace("tune_blocks", "fortune_blocks")) == ["CG105"]


def test_what_is_private_is_judged_where_it_is_called() -> None:
    private = "def _peak(x: Tensor):\n    return x.item()\n\n\n"
    assert rules(private) == []
    assert rules(private + "def f(x: Tensor):\n    return _peak(x)\n") == ["CG101"]
    assert rules(private + "def f(x: Tensor):\n    return _peak(x.shape)\n") == []
    assert rules("def _f(x):\n    k[(1,)](x, x)\n    torch.cuda.synchronize()\n") == ["CG105"]
    assert rules("class F:\n    def __call__(self, x: Tensor):\n        x.item()\n") == ["CG101"]


def test_a_container_that_is_not_seen_has_no_name() -> None:
    source = (
        "def f(x: Tensor, buffers):\n    space = buffers.get('a')\n"
        "    if space is None or space.get('n') < 3:\n        space['n'] = torch.empty(3)\n"
        "        torch.tensor([1.0], device=x.device)\n    return torch.is_inference(x)\n"
    )
    assert rules(source) == []


def test_a_flag_is_the_callers_and_a_constant_nobodys() -> None:
    flagged = "def f(x: Tensor, *, sync=False):\n    if sync:\n        x.item()\n"
    assert rules(flagged) == ["CG101"]
    called = "def g(x: Tensor, *, sync=False):\n    helper(x)\n"
    helper = "def helper(x, *, sync=False):\n    if sync:\n        x.item()\n"
    assert rules(called + helper) == []
    constant = "SYNC = False\ndef f(x: Tensor):\n    if SYNC:\n        x.item()\n"
    assert rules(constant) == []


def test_behind_a_cache_of_its_own_a_function_is_judged_as_it_is() -> None:
    cache = """
from collections import deque


def tensor_cache(function):
    kept = deque(maxlen=4)

    def wrapper(*args, **kwargs):
        for known, result in kept:
            if all(a is b for a, b in zip(args, known)):
                return result
        kept.append((args, function(*args, **kwargs)))
        return kept[-1][1]

    return wrapper


@tensor_cache
def lengths(x: Tensor):
    return x.sum(dim=-1)


"""
    longest = "@tensor_cache\ndef longest(x: Tensor):\n    return lengths(x).max().item()\n"
    assert rules(cache) == []
    assert rules(cache + longest) == ["CG101"]


def test_a_loop_of_one_rank_may_be_its_task() -> None:
    head = "import torch.distributed as dist\n\n\ndef f(x: Tensor):\n"
    assert rules(head + "    while dist.get_rank() == 0:\n        print(x.shape)\n") == []
    leaving = "import sys\n\n\ndef f(x: Tensor):\n    while True:\n        sys.exit(0)\n"
    assert rules(leaving) == []
