import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def silu_and_mul_kernel(x_ptr, out_ptr, row_stride, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    gate = tl.load(x_ptr + row * row_stride + columns, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + row * row_stride + width + columns, mask=inside, other=0.0)
    answer = gate / (1.0 + tl.exp(-gate)) * up.to(tl.float32)
    tl.store(out_ptr + row * width + columns, answer.to(out_ptr.dtype.element_ty), mask=inside)


def silu_and_mul(x: torch.Tensor, out: torch.Tensor) -> None:
    """x (T, 2d) → out (T, d): silu of the left half times the right half."""
    tokens, width = out.shape
    grid = (tokens, triton.cdiv(width, BLOCK))
    silu_and_mul_kernel[grid](x, out, x.stride(0), width, BLOCK=BLOCK)
