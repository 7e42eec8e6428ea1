"""The grader's side of a worker's slab."""

import mmap
import os
from collections.abc import Sequence
from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, fcntl

import torch

from cacheon.engine import driver
from cacheon.engine.ledger import NBYTES, Called, Ledger
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


class SharedLedger:
    """A rank's ledger, in a sealed memfd."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("cacheon-ledger", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, NBYTES)
        fcntl(self.descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
        self._ledger = Ledger(self.descriptor)

    def clear(self) -> None:
        """Before a command: one that never comes to carry it out has called nothing."""
        self._ledger.clear()

    def read(self) -> tuple[Called, ...]:
        return self._ledger.read()

    def close(self) -> None:
        self._ledger.close()
        os.close(self.descriptor)


class MappedDeviceMemory:
    """CUDA: the worker's own allocations on the GPU of number `device`, mapped by IPC; they
    begin at `starts`. Raises DriverError."""

    def __init__(
        self, handles: Sequence[bytes], starts: Sequence[int], nbytes: int, device: int
    ) -> None:
        self._device = torch.device("cuda", device)
        if len(handles) != len(starts):
            raise driver.DriverError(f"{len(handles)} handles for {len(starts)} allocations")
        with torch.cuda.device(self._device):
            # The driver maps into the current context; the first operation makes it.
            torch.zeros(1, device=self._device)
            self._addresses = [driver.open_shared(handle) for handle in handles]
        self.slab = Slab.of_pieces(starts, self._addresses, nbytes, self._device)

    def close(self) -> None:
        with torch.cuda.device(self._device):
            for address in self._addresses:
                driver.close_shared(address)


class OwnMemory:
    """Inline form: the harness's slab is this process's own."""

    def __init__(self, slab: Slab) -> None:
        self.slab = slab

    def close(self) -> None:
        """Nothing to unmap."""
