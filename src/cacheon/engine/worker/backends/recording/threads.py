"""Other threads of the candidate while a call is recorded.

Modes belong to a thread. Each thread that Python starts in a worker carries two of its own,
which look at what the thread does while a recording is on. A capture takes in the work of
its own stream alone, and another thread has another current stream.
"""

import _thread
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from cacheon.engine.worker.backends.recording import operators
from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.guard import Guard
from cacheon.engine.worker.backends.recording.recorder import Recorder, under_way
from cacheon.engine.worker.backends.recording.tape import tensors_of
from cacheon.engine.worker.blame import handed_over

_STARTERS = (
    "start_new_thread",
    "start_new",
    "_start_new_thread",
    "start_joinable_thread",
    "_start_joinable_thread",
)


class _Functions(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        recorder = under_way()
        if recorder is None or not isinstance(recorder.guard, Guard):
            return handed_over(func, *args, **(kwargs or {}))
        return recorder.guard.__torch_function__(func, types, args, kwargs)


class _Operators(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return Recorder._should_skip_dynamo()

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        recorder = under_way()
        if recorder is not None:
            name, inputs = operators.base_name(func), tensors_of([args, keywords])
            if name in operators.CONSTANTS:
                return recorder.take_constant(func, args, keywords, inputs)
            _check(recorder, name, inputs)
        return handed_over(func, *args, **keywords)


def _check(recorder: Recorder, name: str, tensors: list[torch.Tensor]) -> None:
    if not any(recorder.memory.is_live(tensor) for tensor in tensors):
        return
    if name in operators.READS:
        message = f"`{name}` in another thread reads a device value on the host"
        raise recorder.refuse(Violation("CG101", message))
    raise recorder.refuse(
        Violation("CG401", f"`{name}` in another thread, whose current stream is another")
    )


def watching_threads() -> list[tuple[Any, str, Any]]:
    """What to put in the place of what starts threads: (owner, name, value)."""
    return [
        (owner, name, _watching(getattr(owner, name)))
        for owner in (_thread, threading)
        for name in _STARTERS
        if hasattr(owner, name)
    ]


def _watching(start: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(start)
    def started(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        def watched(*inner: Any, **named: Any) -> Any:
            with _Operators(), _Functions():  # type: ignore[no-untyped-call]
                return function(*inner, **named)

        return start(watched, *args, **keywords)

    return started
