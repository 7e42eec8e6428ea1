"""Launches of interpreted Triton kernels, in a process that set TRITON_INTERPRET itself."""

import pytest

pytest.importorskip("triton")

PROGRAM = """
import gc
import torch, triton, triton.language as tl
from cacheon.engine.worker.backends.recording import Recording, Violation, answering_cuda

capturing = []
answers = answering_cuda(lambda: bool(capturing))
answers.__enter__()

@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda a: a["n"] % a["B"] == 0})
@triton.jit
def kernel(x, o, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = (i < n) | EVEN
    tl.store(o + i, tl.load(x + i, mask=m) * 2, mask=m)

@triton.jit
def plain(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

bound = plain.run

grids = []
def grid(meta):
    grids.append(1)
    return (triton.cdiv(100, meta["B"]),)

kept = [torch.empty(100)]
def entry(x, out):
    kernel[grid](x, kept[0], 100)
    out.copy_(kept[0])

x, out = torch.randn(100), torch.empty(100)
entry(x, out)
recording = Recording([x, out])
recording.record(entry, x, out)
assert recording.steps == 2, recording.steps
asked = len(grids)
for _ in range(3):
    x.normal_()
    recording.replay()
    assert torch.equal(out, x * 2)
assert len(grids) == asked, "the candidate's Python ran at replay"
capturing.append(1)
try:
    Recording([x, out]).record(lambda: kernel[grid](x, out, 64))
except Violation as error:
    assert error.rule == "CG502", error
else:
    raise AssertionError("a kernel was tuned while a capture is on")
capturing.clear()
x.normal_()
bound(x, out, 100, grid=(1,), warmup=False, B=128)
recording_of_bound = Recording([x, out])
recording_of_bound.record(lambda: bound(x, out, 100, grid=(1,), warmup=False, B=128))
assert recording_of_bound.steps == 1, "a `run` that was kept escapes the record"

kept.clear()
gc.collect()
try:
    recording.replay()
except Violation as violation:
    assert violation.rule == "CG302"
    print("all is well")
"""


def test_a_launch_is_one_step(interpreted):
    interpreted(PROGRAM)
