"""What a caller is given for a collective that was put on the record: its handle."""

from datetime import timedelta
from typing import NoReturn

import torch
from torch._C._distributed_c10d import Work

from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.pending import Pending, Started


class Handle(Work):
    """Waiting for it makes the caller's stream wait, and nobody else."""

    def __init__(self, started: Started, pending: Pending) -> None:
        super().__init__()
        self._started, self._pending = started, pending

    def wait(self, timeout: timedelta | None = None) -> bool:
        self._pending.wait(self._started)
        return True

    def synchronize(self) -> None:
        self._pending.wait(self._started)

    def block_current_stream(self) -> None:
        self._pending.wait(self._started)

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """Whoever takes its value waits for it on the current stream."""
        self._pending.wait(self._started)
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        future.set_result(self._started.results)
        return future

    def result(self) -> list[torch.Tensor]:
        return self._started.results

    def is_completed(self) -> NoReturn:
        message = "`is_completed` asks the device while a capture is on"
        raise self._pending.refuse(Violation("CG105", message))
