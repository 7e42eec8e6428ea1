"""One block of memory that a worker and the grader both map, and tensors made over it.

A tensor over the slab has a storage of its own at offset 0: it is made over an address,
not cut out of a larger tensor, so that a candidate sees what it would see in serving.
"""

import ctypes
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import torch

from cacheon.engine.plan import TensorRef

ALIGNMENT = 1024
"""Bytes: every region starts at a multiple."""
GUARD = 16 * 1024
"""Bytes on each side of an output that nobody may write."""
GUARD_BYTE = 0x5A
POISON_BYTE = 0xFF
"""Every float made of this byte is a NaN, and one that no arithmetic produces."""


def padded(nbytes: int) -> int:
    """`nbytes` rounded up to the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def torch_dtype(name: str) -> torch.dtype:
    """torch's dtype of a name in a plan; raises KeyError for any other."""
    return {
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
        "float32": torch.float32,
        "int32": torch.int32,
        "int64": torch.int64,
        "uint8": torch.uint8,
    }[name]


class _DeviceMemory:
    """An address that torch can make a tensor over (the CUDA array interface, version 3)."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


class Slab:
    """`nbytes` at `address` of a device's memory, which the caller keeps mapped.

    It may be made of several allocations: `starts` are the offsets at which they begin, from
    0 upwards, `addresses` where they lie. No tensor spans two of them."""

    def __init__(self, address: int, nbytes: int, device: torch.device) -> None:
        self.address = address
        self.nbytes = nbytes
        self.device = device
        self._starts, self._addresses = [0], [address]

    @classmethod
    def of_pieces(
        cls, starts: Sequence[int], addresses: Sequence[int], nbytes: int, device: torch.device
    ) -> "Slab":
        slab = cls(addresses[0], nbytes, device)
        slab._starts, slab._addresses = list(starts), list(addresses)
        return slab

    def _at(self, offset: int, nbytes: int) -> int:
        """The address of a region. Raises ValueError where no allocation holds all of it."""
        piece = bisect_right(self._starts, offset) - 1
        ends = [*self._starts[1:], self.nbytes]
        if offset < 0 or nbytes < 0 or offset + nbytes > ends[piece]:
            whole = (
                f"{self.nbytes}" if len(ends) == 1 else f"the allocation that ends at {ends[piece]}"
            )
            raise ValueError(f"{nbytes} bytes at {offset} are not inside {whole}")
        return self._addresses[piece] + offset - self._starts[piece]

    def raw(self, offset: int, nbytes: int) -> torch.Tensor:
        """uint8 (nbytes,), a storage of its own. Raises ValueError outside the slab."""
        address = self._at(offset, nbytes)
        if nbytes == 0:
            return torch.empty(0, dtype=torch.uint8, device=self.device)
        if self.device.type == "cuda":
            return torch.as_tensor(_DeviceMemory(address, nbytes), device=self.device)
        block = (ctypes.c_ubyte * nbytes).from_address(address)
        return torch.frombuffer(block, dtype=torch.uint8)

    def words(self, offset: int, nbytes: int) -> torch.Tensor:
        """int64 (nbytes / 8,): the quickest way to copy or compare bytes."""
        return self.raw(offset, nbytes).view(torch.int64)

    def tensor(self, ref: TensorRef) -> torch.Tensor:
        """The tensor that `ref` describes; its storage ends with its last element."""
        dtype = torch_dtype(ref.dtype)
        span = 1 + sum((n - 1) * s for n, s in zip(ref.shape, ref.strides, strict=True))
        if min(ref.shape, default=1) == 0:
            span = 0
        flat = self.raw(ref.offset, span * dtype.itemsize).view(dtype)
        return torch.as_strided(flat, ref.shape, ref.strides)
