"""Signals that ask this process to end, put off while what it makes is not noted yet."""

import contextlib
import signal
from collections.abc import Iterator

_ASKING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def put_off() -> Iterator[None]:
    """Whoever asks this thread to end meanwhile is heard right after. What is started in
    here inherits that, and must call `hear`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ASKING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def hear() -> None:
    """Put nothing off that a parent put off."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKING)
