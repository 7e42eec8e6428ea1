"""The worker process: answers one command at a time, the candidate's code beside it."""

import faulthandler
import os
import resource
import signal
import socket
import sys

import torch

from cacheon.engine import processes
from cacheon.engine.ledger import Ledger
from cacheon.engine.protocol import (
    TRUSTED_FRAME,
    AnyCommand,
    AnyReply,
    Closed,
    Done,
    JoinGroup,
    MakeSlab,
    Stop,
    Wire,
)
from cacheon.engine.worker.backends import choose
from cacheon.engine.worker.harness import Harness


def run(sock: socket.socket, on_cpu: bool, device: int) -> int:
    """Serve the grader until it says stop or is gone. Returns the exit status.

    On a GPU, the one of number `device`, the context is made at once: a worker is started
    before it is needed."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # No candidate of root's reaches into the processes around it.
    processes.give_up_privileges()
    processes.leave_limits_of_others_alone()
    # A worker that hangs is asked for the line where it does.
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    # Bytecode written beside the snapshot would be executed the next time.
    sys.dont_write_bytecode = True
    torch.set_num_threads(max(1, min(4, (os.cpu_count() or 1) // 2)))
    wire: Wire[AnyReply, AnyCommand] = Wire(sock, AnyCommand, limit=TRUSTED_FRAME)
    if not on_cpu:
        torch.cuda.set_device(device)
    harness = Harness(choose(on_cpu=on_cpu))
    try:
        # Whoever looks at the socket sees that this worker is up, and allocates no more.
        wire.send(Done())
        while True:
            command = wire.receive()
            # The fork server hides its memory, and with it its children's. One that was
            # started ahead stays hidden from the candidates before its own.
            processes.set_dumpable(True)
            if isinstance(command, Stop):
                return 0
            if isinstance(command, MakeSlab) and command.shared:
                harness.memfd = wire.descriptor()
            if isinstance(command, JoinGroup):
                harness.ledger = Ledger(wire.descriptor())
            wire.send(harness.handle(command))
    except Closed:
        return 0
