"""The grader's side of a worker's slab."""

import mmap
import os
from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, fcntl

import torch

from cacheon.engine import driver
from cacheon.engine.slab import Slab


class SharedMemfd:
    """CPU: a sealed memfd that both sides map; neither can shrink it under the other."""

    def __init__(self, nbytes: int) -> None:
        self.descriptor = os.memfd_create("cacheon-slab", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, nbytes)
        fcntl(self.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
        self._mapping = mmap.mmap(self.descriptor, nbytes)
        self._view: torch.Tensor | None = torch.frombuffer(self._mapping, dtype=torch.uint8)
        self.slab = Slab(self._view.data_ptr(), nbytes, torch.device("cpu"))

    def close(self) -> None:
        os.close(self.descriptor)
        # The mapping goes with the last tensor over it; a view that an error's traceback
        # still holds must not turn this into a second error.
        self._view = None


class MappedDeviceMemory:
    """CUDA: the worker's own allocation, mapped by IPC."""

    def __init__(self, handle: bytes, nbytes: int) -> None:
        self._address = driver.open_shared(handle)
        device = torch.device("cuda", torch.cuda.current_device())
        self.slab = Slab(self._address, nbytes, device)

    def close(self) -> None:
        driver.close_shared(self._address)


class OwnMemory:
    """Inline form: the harness's slab is this process's own."""

    def __init__(self, slab: Slab) -> None:
        self.slab = slab

    def close(self) -> None:
        """Nothing to unmap."""
