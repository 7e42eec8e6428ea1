"""Records an entry's tensor operations on a CPU, and replays them without its Python."""

from cacheon.engine.worker.backends.recording.answers import answering_cuda
from cacheon.engine.worker.backends.recording.faults import NeedsCuda, Violation
from cacheon.engine.worker.backends.recording.fences import Fence, Fenced, Span
from cacheon.engine.worker.backends.recording.session import Recording
from cacheon.engine.worker.backends.recording.watching import Watch

__all__ = [
    "Fence",
    "Fenced",
    "NeedsCuda",
    "Recording",
    "Span",
    "Violation",
    "Watch",
    "answering_cuda",
]
