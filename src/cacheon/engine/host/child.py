"""A forked process as the host sees it, and what it prints.

Endless output is drained and dropped, so that it can fill neither a pipe nor this process.
"""

import os
import socket

HEAD = 1000
"""Characters kept of what a child prints first."""
LAST = 900
"""Bytes shown of what it printed last."""
TAIL = 1 << 16
"""Bytes kept of what it printed last, where a traceback of a hung process is looked for."""


class Output:
    """What a child printed: the first characters and the last bytes."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.head = b""
        self.tail = b""
        self.printed = 0
        self.ended = False

    def drain(self) -> None:
        """Read what is there."""
        for _ in range(64):
            if self.ended:
                return
            try:
                chunk = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return
            self.ended = not chunk
            self.head += chunk[: max(0, HEAD - len(self.head))]
            self.tail = (self.tail + chunk)[-TAIL:]
            self.printed += len(chunk)

    def text(self) -> str:
        """The first characters; where more was printed than those, the last ones too."""
        head = self.head.decode("utf-8", "replace")
        if self.printed <= HEAD:
            return head
        return f"{head}\n...\n{self.tail[-LAST:].decode('utf-8', 'replace')}"


class Child:
    """A process that the zygote forked, and our end of its socket until it is handed on."""

    def __init__(self, pid: int, output: Output, sock: socket.socket) -> None:
        self.pid = pid
        self.output = output
        self.sock = sock

    def close(self) -> None:
        os.close(self.output.descriptor)
        self.sock.close()
