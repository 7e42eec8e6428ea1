"""What a recording can say about a candidate.

Both are `Failure`s, so that the exception that passed through the candidate's own frame
carries its rule itself, wherever it is caught.
"""

from cacheon.engine.worker.backends.port import Failure


class Violation(Failure):
    """Something that a capture of a CUDA graph, or its replay, would not survive."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule, message)
        self.message = message


class NeedsCuda(Failure):
    """The candidate asked for something that only a real CUDA device has. No failure."""

    def __init__(self, message: str) -> None:
        super().__init__("CG807", message, needs_cuda=True)
