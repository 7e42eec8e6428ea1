"""Freed memory, taken again and filled, to see whether a graph still writes there."""

import torch

from cacheon.engine.worker.backends.port import Failure

_WORD = -1
"""Every bit set: NaN to whoever reads it as floats, an index out of range to whoever reads
integers."""


class Canaries:
    """Blocks that nobody but this object has a reason to touch."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._blocks: list[torch.Tensor] = []

    def take(self, sizes: list[int]) -> None:
        """Allocate blocks of these sizes, in bytes and whole words, and fill them."""
        for size in sizes:
            # In words: they are compared eight times as fast as bytes.
            block = torch.empty(size // 8, dtype=torch.int64, device=self.device)
            self._blocks.append(block.fill_(_WORD))

    def inspect(self) -> None:
        """Raise Failure CG302 where one was written; it is filled again."""
        if not self._blocks:
            return
        intact = torch.stack([(block == _WORD).all() for block in self._blocks]).tolist()
        broken = [block for block, whole in zip(self._blocks, intact, strict=True) if not whole]
        for block in broken:
            block.fill_(_WORD)
        if broken:
            raise Failure(
                "CG302",
                f"the replay wrote into memory that was freed after its capture "
                f"({broken[0].nbytes} bytes)",
            )

    def release(self) -> None:
        self._blocks.clear()
