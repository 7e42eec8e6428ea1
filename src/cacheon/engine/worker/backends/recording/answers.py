"""Answers to `torch.cuda` calls that a build for the CPU refuses.

Streams and events are inert, a capture is on while recording, and whatever needs the
device itself says so. `torch.cuda.is_available` stays honest.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, NoReturn

import torch

from cacheon.engine.worker.backends.recording.compilers import without_nvcc
from cacheon.engine.worker.backends.recording.faults import NeedsCuda, Violation
from cacheon.engine.worker.backends.recording.kernels import noting_kernels
from cacheon.engine.worker.backends.recording.launches import without_a_driver
from cacheon.engine.worker.backends.recording.recorder import refuse
from cacheon.engine.worker.backends.recording.symmetric import without_symmetric_memory
from cacheon.engine.worker.backends.recording.threads import watching_threads
from cacheon.engine.worker.blame import handed_over


class answering_cuda(AbstractContextManager[None]):
    """Let `torch.cuda` answer as if there were one device; `recording` tells whether a
    capture is on. A worker enters it and never leaves."""

    def __init__(self, recording: Callable[[], bool]) -> None:
        self._answers = _answers(recording)
        self._kept: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        for owner, name, value in self._answers:
            self._kept.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)

    def __exit__(self, *_: object) -> None:
        while self._kept:
            owner, name, value = self._kept.pop()
            setattr(owner, name, value)


def _answers(recording: Callable[[], bool]) -> list[tuple[Any, str, Any]]:
    def synchronize(*_: object, **__: object) -> None:
        if recording():
            raise refuse(Violation("CG105", "it waits for the device while a capture is on"))

    class Event:
        def __init__(self, *_: object, **__: object) -> None: ...

        def record(self, stream: object = None) -> None: ...

        def wait(self, stream: object = None) -> None: ...

        def query(self) -> bool:
            synchronize()
            return True

        def synchronize(self) -> None:
            synchronize()

        def elapsed_time(self, end: object) -> float:
            synchronize()
            return 0.0

    class Stream(AbstractContextManager["Stream"]):
        cuda_stream = 0
        device_index = 0

        def __init__(self, device: object = None, priority: int = 0, **_: object) -> None:
            self.device = torch.device("cpu")
            self.priority = priority

        def __exit__(self, *_: object) -> None: ...

        def wait_stream(self, stream: object) -> None: ...

        def wait_event(self, event: object) -> None: ...

        def record_event(self, event: Any = None) -> Any:
            return event or Event()

        def query(self) -> bool:
            synchronize()
            return True

        def synchronize(self) -> None:
            synchronize()

    default = Stream()
    streams = [default]

    class Scope(AbstractContextManager[None]):
        def __init__(self, stream: Any = None) -> None:
            self._stream = stream or streams[-1]

        def __enter__(self) -> None:
            streams.append(self._stream)

        def __exit__(self, *_: object) -> None:
            streams.pop()

    def set_stream(stream: Any) -> None:
        streams[-1] = stream or default

    class Device(AbstractContextManager[None]):
        """Chooses among the devices, of which there is one."""

        def __init__(self, device: object = None) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    def nothing() -> Callable[..., None]:
        # One for each name: torch._dynamo refuses an object that it meets under two.
        return lambda *_, **__: None

    def needs(what: str) -> Callable[..., NoReturn]:
        def lacking(*_: object, **__: object) -> NoReturn:
            raise NeedsCuda(f"it needs a CUDA device: {what}")

        return lacking

    cuda: Any = torch.cuda
    answers: list[tuple[Any, str, Any]] = [
        (cuda, "Stream", Stream),
        (cuda, "ExternalStream", Stream),
        (cuda, "Event", Event),
        (cuda, "StreamContext", Scope),
        (cuda, "stream", Scope),
        (cuda, "set_stream", set_stream),
        (cuda, "current_stream", lambda device=None: streams[-1]),
        (cuda, "default_stream", lambda device=None: default),
        (cuda, "is_current_stream_capturing", recording),
        (cuda.graphs, "is_current_stream_capturing", recording),
        (cuda, "synchronize", synchronize),
        (cuda, "device", Device),
        (cuda, "device_of", Device),
        (cuda, "init", nothing()),
        (cuda, "empty_cache", nothing()),
        (cuda, "device_count", lambda: 1),
        (cuda, "current_device", lambda: 0),
        (cuda, "set_device", nothing()),
        (cuda, "_lazy_init", needs("the CUDA runtime")),
        (torch.Tensor, "cuda", needs("`.cuda()`")),
        (torch.Tensor, "pin_memory", needs("pinned memory")),
        (torch.Tensor, "record_stream", nothing()),
        (torch.library.Library, "impl", noting_kernels(torch.library.Library.impl)),
        (torch, "compile", _uncompiled),
        (torch.nn.Module, "compile", nothing()),
    ]
    for name in ("range_push", "range_pop", "mark"):
        answers.append((cuda.nvtx, name, nothing()))
    for name in ("empty", "zeros", "ones", "full", "tensor", "empty_like", "zeros_like"):
        answers.append((torch, name, _unpinned(getattr(torch, name))))
    for name in ("CUDAGraph", "graph", "get_device_properties", "get_device_capability"):
        answers.append((cuda, name, needs(f"`torch.cuda.{name}`")))
    for name in _OF_ACCELERATORS:
        if hasattr(torch.accelerator, name):
            answers.append((torch.accelerator, name, needs(f"`torch.accelerator.{name}`")))
    answers += [(torch, "Stream", _Lacking), (torch, "Event", _Lacking)]
    answers += without_nvcc(needs) + watching_threads()
    answers += without_symmetric_memory(needs)
    return answers + without_a_driver(recording, needs)


_OF_ACCELERATORS = (
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_index",
    "get_device_capability",
    "get_memory_info",
    "memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
)
"""What raises where there is no accelerator; whether there is one is answered honestly."""


class _Lacking:
    """In the place of a class of which a CPU has no object."""

    def __init__(self, *_: object, **__: object) -> None:
        raise NeedsCuda("it needs a CUDA device: a stream or event of an accelerator")


def _unpinned(factory: Callable[..., Any]) -> Callable[..., Any]:
    """The factory, which says what it needs where pinned memory is asked of it."""

    @wraps(factory)
    def make(*args: Any, **keywords: Any) -> Any:
        if keywords.get("pin_memory"):
            raise NeedsCuda("it needs a CUDA device: pinned memory")
        return handed_over(factory, *args, **keywords)

    return make


def _uncompiled(model: Any = None, **_: object) -> Any:
    """In the place of torch.compile: what a compiler for the CPU makes of a function says
    nothing about a GPU, and its generated code hides from the record."""
    return model if model is not None else _uncompiled
