"""Which memory a recording has met: whose it is, and what it stands for.

Storages made while recording are held strongly, as a graph's private pool holds them. All
others are held as a graph holds them, by address: a weak reference, looked up at replay.
"""

from typing import NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from cacheon.engine.worker.backends.recording.faults import Violation


def storage_key(tensor: torch.Tensor) -> int:
    """The identity of the tensor's storage; 0 where it has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return 0


class Outer:
    """A storage that was there before the recording."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        # The reference keeps the storage's identity from being given to another.
        self.reference = StorageWeakRef(storage)
        self.address = storage.data_ptr()
        # Memory that torch did not allocate ends with its owner, not with this object: the
        # examiner's buffers are made into new tensors at each call.
        self.foreign = None if storage.resizable() else storage
        self.nbytes = storage.nbytes()

    def recall(self) -> torch.UntypedStorage:
        """The storage. Raises Violation where it is gone or has moved."""
        storage: torch.UntypedStorage | None = torch.UntypedStorage._new_with_weak_ptr(
            self.reference.cdata
        )
        if storage is None:
            raise Violation(
                "CG302", f"a buffer captured by address is gone ({self.nbytes} bytes, freed since)"
            )
        if storage.data_ptr() != self.address or storage.nbytes() < self.nbytes:
            raise Violation(
                "CG302",
                f"a buffer captured by address is gone ({self.nbytes} bytes, resized since)",
            )
        return storage


class View(NamedTuple):
    """Where in a storage a tensor lies, and whether it shows what lies there conjugated or
    negated: torch puts both off until somebody reads."""

    key: int
    dtype: torch.dtype
    offset: int
    size: torch.Size
    stride: tuple[int, ...]
    conjugated: bool
    negated: bool

    @classmethod
    def of(cls, key: int, tensor: torch.Tensor) -> "View":
        return cls(
            key,
            tensor.dtype,
            int(tensor.storage_offset()),
            tensor.size(),
            tensor.stride(),
            tensor.is_conj(),
            tensor.is_neg(),
        )

    def over(self, storage: torch.UntypedStorage) -> torch.Tensor:
        """The tensor once more."""
        tensor = torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.size, self.stride)
        if self.conjugated:
            tensor = torch._conj(tensor)
        return torch._neg_view(tensor) if self.negated else tensor


class Memory:
    """`readable` storages hold host data: reading them costs no capture. Those of them in
    `constant` were made from Python or numpy data and are of no use to a kernel."""

    def __init__(self) -> None:
        self.own: dict[int, torch.UntypedStorage] = {}
        self.outer: dict[int, Outer] = {}
        self.readable: set[int] = set()
        self.constant: set[int] = set()

    def knows(self, key: int) -> bool:
        return key in self.own or key in self.outer

    def adopt(self, tensor: torch.Tensor) -> int:
        """Hold a storage that the recorded call made."""
        key = storage_key(tensor)
        if key and not self.knows(key):
            self.own[key] = tensor.untyped_storage()
        return key

    def notice(self, tensor: torch.Tensor) -> int:
        """Remember a storage that was there before, weakly."""
        key = storage_key(tensor)
        if key and not self.knows(key):
            self.outer[key] = Outer(tensor.untyped_storage())
        return key

    def is_live(self, tensor: torch.Tensor) -> bool:
        """Whether it stands for device memory."""
        return storage_key(tensor) not in self.readable

    def host(self, tensor: torch.Tensor, *, constant: bool) -> None:
        """Mark a tensor that the recorded call made as host data."""
        key = self.adopt(tensor)
        if key in self.own:
            self.readable.add(key)
            if constant:
                self.constant.add(key)

    def live(self, key: int) -> None:
        """Device data was written there."""
        self.readable.discard(key)
        self.constant.discard(key)
