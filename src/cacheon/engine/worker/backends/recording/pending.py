"""Collectives that were started while recording, and that nobody has waited for yet.

On a GPU they run on a stream of the group's own, one after the other. Waiting for one joins
that stream to the caller's, up to there: until then results are not there, inputs may not
be overwritten, and a capture that ends has lost it.
"""

from collections.abc import Callable, Iterable, Sequence

import torch

from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.fences import Span


class Started:
    """One of them. `group`: whose stream it runs on; empty where it is its own."""

    def __init__(
        self,
        what: str,
        group: str,
        writes: Sequence[torch.Tensor],
        reads: Sequence[torch.Tensor],
    ) -> None:
        self.what, self.group, self.results = what, group, list(writes)
        self.writes, self.reads = _spans(writes), _spans(reads)


class Pending:
    """In the order in which they were started. `refuse` is the recorder's."""

    def __init__(self, refuse: Callable[[Violation], Violation]) -> None:
        self.refuse = refuse
        self._all: list[Started] = []

    def start(self, started: Started) -> None:
        self._all.append(started)

    def wait(self, awaited: Started) -> None:
        """The caller waits for this one, and so for what ran before it on the same stream."""
        if awaited in self._all:
            before = self._all[: self._all.index(awaited)]
            ended = [one for one in before if awaited.group and one.group == awaited.group]
            self._all = [one for one in self._all if one not in (awaited, *ended)]

    def wait_for(self, tensor: torch.Tensor) -> None:
        """The caller waits for whatever writes to this tensor."""
        own = _spans([tensor])
        for started in reversed(self._all):
            if _meet(own, started.writes):
                self.wait(started)

    def touched(
        self, name: str, tensors: Iterable[torch.Tensor], written: Iterable[torch.Tensor]
    ) -> None:
        """An operator is given `tensors`, and writes some of them. Raises Violation CG401
        where a collective that was not waited for is still at work there."""
        if not self._all:
            return  # It costs something, at every operator.
        met, changed = _spans(tensors), _spans(written)
        for started in self._all:
            if _meet(met, started.writes):
                message = f"`{name}` uses what `{started.what}` writes before it was waited for"
                raise self.refuse(Violation("CG401", message))
            if _meet(changed, started.reads):
                message = f"`{name}` writes to what `{started.what}` reads before it was waited for"
                raise self.refuse(Violation("CG401", message))

    def expect_none(self) -> None:
        """The call is over. Raises Violation CG401 where one was never waited for."""
        for started in self._all:
            message = f"`{started.what}` is started, and nobody waits for it"
            raise self.refuse(Violation("CG401", message))


def _spans(tensors: Iterable[torch.Tensor]) -> list[Span]:
    found = []
    for tensor in tensors:
        if tensor.numel():
            begin = tensor.data_ptr()
            last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
            found.append(Span(begin, begin + (last + 1) * tensor.element_size()))
    return found


def _meet(some: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(one.meets(other) for one in some for other in others)
