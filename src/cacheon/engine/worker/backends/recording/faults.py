"""What a recording can say about a candidate."""


class Violation(Exception):
    """Something that a capture of a CUDA graph, or its replay, would not survive."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


class NeedsCuda(Exception):
    """The candidate asked for something that only a real CUDA device has. No failure."""
