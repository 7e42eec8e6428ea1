"""Symmetric memory, which lies in several GPUs and in no CPU."""

from collections.abc import Callable
from typing import Any, NoReturn

import torch

_ASKED = ("empty_strided_p2p", "rendezvous", "get_mempool_allocator", "set_backend")


def without_symmetric_memory(
    needs: Callable[[str], Callable[..., NoReturn]],
) -> list[tuple[Any, str, Any]]:
    """What to put in the place of its allocation and its rendezvous: (owner, name, value)."""
    if not torch.distributed.is_available():
        return []
    from torch._C._distributed_c10d import _SymmetricMemory

    kind: Any = _SymmetricMemory
    return [
        (kind, name, staticmethod(needs("symmetric memory")))
        for name in _ASKED
        if hasattr(kind, name)
    ]
