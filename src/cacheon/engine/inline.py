"""The inline form: grader and harness in one process.

For a GPU in exclusive mode, where a second process gets no context, and for asserting on
a function inside somebody's test. The grader is then within the candidate's reach, no
deadline is kept inside it, and every record says so.
"""

import socket
from collections.abc import Sequence

from cacheon.engine.grader.main import serve
from cacheon.engine.protocol import TRUSTED_FRAME, AnyAsk, AnyTell, Ended, InlinePort, Where, Wire
from cacheon.engine.worker.backends import choose
from cacheon.engine.worker.harness import Harness


class InlineKeeper:
    """Harnesses in this very process."""

    def __init__(self, on_cpu: bool) -> None:
        self.on_cpu = on_cpu
        self.started = 0

    def start(self, device: int) -> tuple[int, InlinePort]:
        harness = Harness(choose(on_cpu=self.on_cpu))
        self.started += 1
        return self.started, InlinePort(harness.handle, lambda: harness.slab)

    def locate(self, workers: Sequence[int]) -> tuple[Where | None, ...]:
        return (None,) * len(workers)

    def end(self, worker: int, hung: bool, killed: bool) -> Ended:
        return Ended(status=0)

    def quiet(self) -> None:
        """Nothing else runs here."""


def run(sock: socket.socket, on_cpu: bool) -> int:
    """Serve the host until it finishes. Returns the exit status."""
    wire: Wire[AnyAsk, AnyTell] = Wire(sock, AnyTell, limit=TRUSTED_FRAME)
    return serve(wire, InlineKeeper(on_cpu))
