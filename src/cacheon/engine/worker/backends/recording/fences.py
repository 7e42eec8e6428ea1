"""Whose memory an operator writes: in the examiner's slab only the outputs of this call."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from cacheon.engine.worker.backends.recording import operators
from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.blame import handed_over
from cacheon.engine.worker.collectives import (
    NO_COLLECTIVES,
    Noting,
    carried_out,
    described_operator,
    operator_name,
)


class Span(NamedTuple):
    """Addresses from `begin` up to `end`."""

    begin: int
    end: int

    def holds(self, address: int) -> bool:
        return self.begin <= address < self.end

    def meets(self, other: "Span") -> bool:
        return self.begin < other.end and other.begin < self.end


class Fence:
    """`own` are outputs of this call, `outputs` those of every call so far."""

    def __init__(self, slab: Span, own: Sequence[Span], outputs: Sequence[Span]) -> None:
        self.slab, self.own, self.outputs = slab, own, outputs

    def breach(
        self, func: torch._ops.OpOverload, args: Sequence[Any], keywords: dict[str, Any]
    ) -> Violation | None:
        """What an operator is about to write where it may not; None where it may."""
        name = operators.base_name(func)
        silent = func.namespace != "c10d" and not func._schema.is_mutable
        if silent or operators.is_metadata(func, name):
            return None
        for tensor in operators.written(func, args, keywords):
            address = tensor.data_ptr() if tensor.numel() else 0
            if not self.slab.holds(address) or any(span.holds(address) for span in self.own):
                continue
            if any(span.holds(address) for span in self.outputs):
                return Violation("CG205", f"`{name}` writes to an output of another call")
            return Violation("CG202", f"`{name}` writes to an input or a weight")
        return None


class Fenced(TorchDispatchMode):
    """Holds an eager call to its fence; `first` is what the candidate may have caught.
    `note` is told of every collective, also of those that no Python calls."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # As for the recorder: torch's wrapper would import all of torch._dynamo.
        return False

    def __init__(self, fence: Fence, note: Noting | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.fence, self.note = fence, note
        self.first: Violation | None = None

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        breach = self.fence.breach(func, args, keywords)
        if breach is not None:
            self.first = self.first or breach
            raise breach
        together = self.note is not None and func.namespace in operators.COLLECTIVES
        together = together and operator_name(func) not in NO_COLLECTIVES
        if self.note is not None and together and carried_out(args, keywords):
            with self.note(described_operator(func, args, keywords)):
                return handed_over(func, *args, **keywords)
        return handed_over(func, *args, **keywords)
