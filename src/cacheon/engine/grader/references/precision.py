"""How precise a reference is: float64 where that is cheap, else exact float32."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

ELEMENTS = 1 << 22
"""Up to so many elements in the largest tensor an elementwise reference uses float64."""

PRODUCTS = 1 << 34
"""Up to so many multiplications a reference made of matrix products uses float64 (a
second on a laptop, a few milliseconds on a data centre's GPU)."""

SCRATCH = 1 << 26
"""No temporary of a reference has many more elements than this: larger ones are computed
in slices."""


def for_elements(count: int) -> torch.dtype:
    """The dtype to compute `count` elements in."""
    return torch.float64 if count <= ELEMENTS else torch.float32


def for_products(count: int) -> torch.dtype:
    """The dtype to compute `count` multiplications in."""
    return torch.float64 if count <= PRODUCTS else torch.float32


def slices(total: int, each: int) -> Iterator[slice]:
    """Cut [0, total) so that a slice of n items, `each` elements apiece, fits SCRATCH."""
    step = max(1, SCRATCH // max(1, each))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


@contextmanager
def exact_products() -> Iterator[None]:
    """float32 matrix products in float32, not TF32 or bfloat16, whatever the process has
    asked for; what it asked for holds again afterwards.

    The settings by backend are used, for the general one refuses to be read where somebody
    has set a backend's.
    """
    # torch's annotations do not know that this module has it.
    onednn = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    backends = (torch.backends.cuda.matmul, onednn)
    asked = [backend.fp32_precision for backend in backends]
    try:
        for backend in backends:
            backend.fp32_precision = "ieee"
        yield
    finally:
        for backend, precision in zip(backends, asked, strict=True):
            backend.fp32_precision = precision
