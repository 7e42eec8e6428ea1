"""bfloat16 in interpreted Triton kernels, in a process that set TRITON_INTERPRET itself."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from cacheon.engine.worker.backends.recording.bfloat16 import narrowed, widened

pytest.importorskip("triton")

PROGRAM = """
import torch, triton, triton.language as tl
from cacheon.engine.worker.backends.recording import answering_cuda

answering_cuda(lambda: False).__enter__()
N = tl.constexpr(16)

@triton.jit
def dot(x, y, o):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(o + at, tl.dot(tl.load(x + at), tl.load(y + at)))

@triton.jit
def chain(x, y, o):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + 0 * N + i, a * b + a - b)
    tl.store(o + 1 * N + i, a / b)
    tl.store(o + 2 * N + i, -a)
    tl.store(o + 3 * N + i, tl.where(a > b, a, b))
    tl.store(o + 4 * N + i, tl.abs(a))
    tl.store(o + 5 * N + i, (a > b).to(tl.bfloat16) + i.to(tl.bfloat16))
    tl.store(o + 6 * N + i, (a.to(tl.float32) * 3.14159).to(tl.bfloat16))
    tl.store(o + 7 * N + i, (a * 8).to(tl.int32).to(tl.float32).to(tl.bfloat16))
    tl.store(o + 8 * N + i, tl.sum(a, axis=0) + tl.zeros([N], tl.bfloat16))
    tl.store(o + 9 * N + i, tl.cumsum(a, axis=0))
    tl.store(o + 10 * N + i, tl.max(a, axis=0).to(tl.bfloat16) + tl.zeros([N], tl.bfloat16))
    tl.store(o + 11 * N + i, a.to(tl.float16).to(tl.bfloat16))
    tl.store(o + 12 * N + i, tl.fma(a, b, a))

x, y = torch.randn(16, 16).bfloat16(), torch.randn(16, 16).bfloat16()
out = torch.empty(16, 16)
dot[(1,)](x, y, out)
torch.testing.assert_close(out, x.float() @ y.float())

a, b = x[0], y[0]
o = torch.empty(13, 16, dtype=torch.bfloat16)
chain[(1,)](a, b, o)
expected = [
    a * b + a - b,
    a / b,
    -a,
    torch.maximum(a, b),
    a.abs(),
    (a > b).bfloat16() + torch.arange(16).bfloat16(),
    (a.float() * 3.14159).bfloat16(),
    (a * 8).int().bfloat16(),
    a.float().sum().bfloat16().expand(16),
    a.float().cumsum(0).bfloat16(),
    a.max().expand(16),
    a.half().bfloat16(),
    (a.double() * b.double() + a.double()).bfloat16(),
]
for line, (got, right) in enumerate(zip(o, expected)):
    torch.testing.assert_close(got, right, msg=lambda text: f"line {line}: {text}")
print("all is well")
"""


def test_bfloat16_is_computed_with_as_numbers(interpreted: Callable[[str], None]) -> None:
    interpreted(PROGRAM)


COUNTER = """
import torch, triton, triton.language as tl
from cacheon.engine.worker.backends.recording import answering_cuda

answering_cuda(lambda: False).__enter__()

@triton.jit
def count(total, one):
    tl.atomic_add(total + tl.arange(0, 16), one)

total = torch.zeros(16)
count[(1,)](total, 1.0)
assert total.tolist() == [1.0] * 16
try:
    count[(1,)](total.bfloat16(), 1.0)
except Exception as error:
    while not str(error).startswith("it needs"):
        error = error.__cause__
    assert str(error).endswith("an atomic operation on bfloat16 in a Triton kernel"), error
    print("all is well")
"""


def test_an_atomic_operation_on_bfloat16_needs_a_device(interpreted: Callable[[str], None]) -> None:
    """The interpreter would add to the integers of the bits."""
    interpreted(COUNTER)


def test_float32_is_rounded_as_torch_rounds_it() -> None:
    values = torch.cat(
        [
            torch.randn(4096) * torch.logspace(-40, 38, 4096),
            torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 3.4e38, 1 + 2**-8]),
            torch.tensor([1 + 3 * 2**-8, -1 - 2**-8, 1e-45, -1e-40]),
        ]
    )
    bits = narrowed(values.numpy())
    rounded = torch.from_numpy(bits.view(np.int16).copy()).view(torch.bfloat16)
    assert torch.equal(rounded.nan_to_num(7.0), values.bfloat16().nan_to_num(7.0))
    assert torch.equal(rounded.isnan(), values.isnan())
    wide = torch.from_numpy(widened(bits))
    assert torch.equal(wide.nan_to_num(7.0), rounded.float().nan_to_num(7.0))
    assert narrowed(np.array(1.0, np.float32)).shape == ()
