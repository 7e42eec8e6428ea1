"""Where the randomness of a draw comes from: a pure function of names and numbers.

Every tensor has a generator of its own, seeded with a digest of everything that
identifies it, so that a draw neither depends on what was drawn before it nor on how many
numbers another tensor took. A device repeats its own values; a CPU and a GPU differ.
"""

import functools
import hashlib
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

Extreme = Literal["minimal", "maximal", "any"]
"""What the lengths and the routing of a draw look like: as small and as evenly spread as
they can be, as large and as lopsided as they can be, or anything between."""

ELEMENT_TYPES: dict[str, torch.dtype] = {
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float32": torch.float32,
    "float64": torch.float64,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
}

POOL, PIECE = 1 << 20, 1 << 16
"""On a CPU, where a million normal numbers take 7 ms, large tensors are made of pieces of
a pool of them, each cut out at a random place, in 0.5 ms a million."""

ZEROS_STRIDE = 251
"""One element in so many is a zero: a prime, so that it falls into every column."""


@dataclass(frozen=True, slots=True)
class DrawKey:
    """What identifies the values of one call.

    `case` is the case's label. `round` counts the draws of one buffer set; needles
    alternate with its parity, so any two consecutive rounds hold both kinds. `rank` is
    whose values they are, -1 for those that all ranks share.
    """

    seed: int
    slot: str
    case: str
    buffer_set: str
    round: int
    rank: int = -1

    def of_rank(self, rank: int) -> "DrawKey":
        return replace(self, rank=rank)


class Source:
    """All randomness of one draw, on one device."""

    def __init__(self, device: torch.device | str, *parts: object) -> None:
        self.device = torch.device(device)
        self._parts = parts

    @classmethod
    def of(cls, key: DrawKey, device: torch.device | str) -> "Source":
        whose = () if key.rank < 0 else ("rank", key.rank)
        return cls(device, key.seed, key.slot, key.case, key.buffer_set, key.round, *whose)

    def on_host(self) -> "Source":
        """The same source, on the CPU: a GPU takes four times as long for the same steps
        on a few numbers (lengths, places), and `carry` takes their result over."""
        return Source("cpu", *self._parts)

    def carry(self, table: torch.Tensor) -> torch.Tensor:
        """A small tensor of the host's on this source's device. Nothing waits: the copy
        is from pinned memory, which the allocator keeps until it is done."""
        if self.device.type == "cpu":
            return table
        return table.pin_memory().to(self.device, non_blocking=True)

    def pick(self, name: str, bound: int) -> int:
        """A number in [0, bound), known to the host."""
        return digest(*self._parts, name) % bound

    def generator(self, name: str) -> torch.Generator:
        generator = torch.Generator(device=self.device)
        generator.manual_seed(digest(*self._parts, name))
        return generator

    def normal(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Standard normal values of `shape`, contiguous."""
        if self.device.type == "cpu" and math.prod(shape) > PIECE:
            return self._pieces(name, shape, dtype)
        return torch.randn(
            tuple(shape), dtype=dtype, device=self.device, generator=self.generator(name)
        )

    def _pieces(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        values = torch.empty(tuple(shape), dtype=dtype)
        places = random.Random(digest(*self._parts, name))
        for piece in torch.split(values.view(-1), PIECE):
            place = places.randrange(POOL - PIECE)
            piece.copy_(_pool()[place : place + piece.shape[0]])
        return values

    def uniform(
        self, name: str, shape: Sequence[int], low: float, high: float, dtype: torch.dtype
    ) -> torch.Tensor:
        """Values of `shape`, uniform in [low, high)."""
        unit = torch.rand(
            tuple(shape), dtype=torch.float32, device=self.device, generator=self.generator(name)
        )
        if (low, high) != (0.0, 1.0):
            unit.mul_(high - low).add_(low)
        return unit.to(dtype)

    def integers(self, name: str, shape: Sequence[int], low: int, high: int) -> torch.Tensor:
        """int64 values of `shape` in [low, high]."""
        return torch.randint(
            low, high + 1, tuple(shape), device=self.device, generator=self.generator(name)
        )

    def signs(self, name: str, shape: Sequence[int]) -> torch.Tensor:
        """float32 values of `shape`, each 1 or -1."""
        return self.integers(name, shape, 0, 1).mul_(2).sub_(1).to(torch.float32)

    def scatter_zeros(self, name: str, tensor: torch.Tensor) -> None:
        """Turn one element in `ZEROS_STRIDE` of the contiguous `tensor` into a zero that
        keeps its sign."""
        start = self.pick(f"{name} zeros", ZEROS_STRIDE)
        tensor.view(-1)[start::ZEROS_STRIDE].mul_(0)


@functools.cache
def _pool() -> torch.Tensor:
    """Standard normal values, float32 (POOL), the same in every process."""
    return torch.randn(POOL, generator=torch.Generator().manual_seed(0))


def digest(*parts: object) -> int:
    """A 63-bit number from the spelling of `parts`."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
