"""Collectives on the record. As under a capture, none is carried out while recording: ranks
whose records differ are told so, instead of waiting for each other. A replay waits for each
as it comes to it; sends and receives are started together and waited for together.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from cacheon.engine.worker.backends.recording import operators
from cacheon.engine.worker.backends.recording.memory import Memory, storage_key
from cacheon.engine.worker.backends.recording.pending import Pending, Started
from cacheon.engine.worker.backends.recording.tape import Tape, tensors_of
from cacheon.engine.worker.collectives import (
    NO_COLLECTIVES,
    Noting,
    described_operator,
    operator_name,
)

_FUNCTIONAL = "_c10d_functional"
_BETWEEN_TWO = frozenset({"send", "recv", "recv_any_source"})


class Together:
    """What one recorded call does together with other ranks. `note` is told of each
    collective, now and as a replay begins it; `pending` are those that the caller has not waited
    for yet."""

    def __init__(self, memory: Memory, tape: Tape, note: Noting | None, pending: Pending) -> None:
        self.memory, self.tape, self.note = memory, tape, note or contextlib.nullcontext
        self.pending = pending
        self._handles: list[Any] = []
        self._started: list[Any] = []

    def take(
        self, func: torch._ops.OpOverload, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Put a collective on the tape; what the caller is given in its place."""
        name = operator_name(func)
        if name in NO_COLLECTIVES:
            self.pending.wait_for(args[0])
            return args[0]
        for tensor in tensors_of(args) + tensors_of(keywords):
            self.memory.notice(tensor)
            # Their schemas do not say what they write.
            self.memory.live(storage_key(tensor))
        what = described_operator(func, args, keywords)
        with self.note(what):
            pass  # It begins and ends here: nothing is carried out.
        if func.namespace == _FUNCTIONAL:
            return self._functional(func, what, args, keywords)
        if name in _BETWEEN_TWO:
            self.tape.add(self._starting(func, what), args, keywords, finish=self._finish)
        else:
            self.tape.add(self._waiting(func, what), args, keywords)
        written = list(operators.written(func, args, keywords))
        read = [one for one in tensors_of(args) if not any(one is other for other in written)]
        group = "" if name in _BETWEEN_TWO else _group_name(args)
        handle = self._handle(Started(what, group, written, read))
        return (args[0], handle) if len(func._schema.returns) == 2 else handle

    def _functional(
        self,
        func: torch._ops.OpOverload,
        what: str,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        if func._schema.is_mutable:
            self.tape.add(self._waiting(func, what), args, keywords)
            result = keywords.get("out", args[0])
            self.pending.start(Started(what, _group_name(args), tensors_of(result), []))
            return result
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
        self.pending.start(Started(what, _group_name(args), made, tensors_of(args)))
        return made[0] if single else made

    def _handle(self, started: Started) -> Any:
        # Imported by ranks only: a build of torch may know of no collectives.
        from cacheon.engine.worker.backends.recording.work import Handle

        self.pending.start(started)
        # C++ holds no more of it than its own half.
        self._handles.append(Handle(started, self.pending))
        return self._handles[-1].boxed()

    def _waiting(self, func: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            with self.note(what):
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
            with self.note(what):
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


def _group_name(arguments: Sequence[Any]) -> str:
    """Of the group that a collective is given, as an object or, last, by its name."""
    for value in arguments:
        if isinstance(value, torch.ScriptObject) and "ProcessGroup" in str(value._type()):
            return str(torch.distributed.ProcessGroup.unbox(value).group_name)
    return next((value for value in reversed(arguments) if isinstance(value, str)), "")
