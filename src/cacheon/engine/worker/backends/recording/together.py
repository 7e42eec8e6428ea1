"""Collectives on the record. As under a capture, none is carried out while recording: ranks
whose records differ are told so, instead of waiting for each other. A replay waits for each
as it comes to it; sends and receives are started together and waited for together.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from cacheon.engine.worker.backends.recording.memory import Memory, storage_key
from cacheon.engine.worker.backends.recording.tape import Tape, tensors_of
from cacheon.engine.worker.collectives import described

_FUNCTIONAL = "_c10d_functional"
_WITHOUT_WORK = frozenset({"wait_tensor", "_wrap_tensor_autograd"})
"""Functional operators that hand on what they are given."""
_BETWEEN_TWO = frozenset({"send", "recv", "recv_any_source"})


class Together:
    """What one recorded call does together with other ranks. `note` is told of each
    collective as a replay begins it."""

    def __init__(self, memory: Memory, tape: Tape, note: Callable[[str], None] | None) -> None:
        self.memory, self.tape, self.note = memory, tape, note or _nobody
        self._started: list[Any] = []

    def take(
        self, func: torch._ops.OpOverload, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Put a collective on the tape; what the caller is given in its place."""
        name = str(func._schema.name).rpartition("::")[2].rstrip("_")
        if name in _WITHOUT_WORK:
            return args[0]
        for tensor in tensors_of(args) + tensors_of(keywords):
            self.memory.notice(tensor)
            # Their schemas do not say what they write.
            self.memory.live(storage_key(tensor))
        what = described(name, args, keywords)
        if func.namespace == _FUNCTIONAL:
            # Nothing below the dispatcher notes these.
            self.note(what)
            return self._functional(func, what, args, keywords)
        if name in _BETWEEN_TWO:
            self.tape.add(self._starting(func, what), args, keywords, finish=self._finish)
        else:
            self.tape.add(self._waiting(func, what), args, keywords)
        work = _done_work()
        return (args[0], work) if len(func._schema.returns) == 2 else work

    def _functional(
        self,
        func: torch._ops.OpOverload,
        what: str,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        if func._schema.is_mutable:
            self.tape.add(self._waiting(func, what), args, keywords)
            return keywords.get("out", args[0])
        with _disable_current_modes():
            shapes = func(*(_meta(value) for value in args), **keywords)
            single = isinstance(shapes, torch.Tensor)
            made = [
                torch.empty(one.shape, dtype=one.dtype)
                for one in ([shapes] if single else list(shapes))
            ]
        for tensor in made:
            self.memory.adopt(tensor)
        self.tape.add(self._waiting(func, what), args, keywords, list(enumerate(made)))
        return made[0] if single else made

    def _waiting(self, func: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            self.note(what)
            result = func(*arguments, **keywords)
            for part in result if isinstance(result, tuple | list) else (result,):
                if isinstance(part, torch.Tensor):
                    torch.ops._c10d_functional.wait_tensor(part)
                elif hasattr(part, "wait"):
                    part.wait()
            return result

        return call

    def _starting(self, func: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> None:
            self.note(what)
            self._started.append(func(*arguments, **keywords))

        return call

    def _finish(self) -> None:
        started, self._started = self._started, []
        for work in started:
            work.wait()


def _meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value, device="meta")
    if isinstance(value, list):
        return [_meta(item) for item in value]
    return value


def _done_work() -> Any:
    """Work that is done already, as a caller under a capture would find it."""
    from torch._C._distributed_c10d import FakeWork

    return FakeWork().boxed()


def _nobody(_: str) -> None:
    """Nobody listens."""
