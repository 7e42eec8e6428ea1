"""A launch of an interpreted Triton kernel is one step of the record."""

import copy
import importlib
import importlib.util
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from cacheon.engine.worker.backends.recording.bfloat16 import with_bfloat16
from cacheon.engine.worker.backends.recording.compilers import without_ptx
from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.memory import storage_key
from cacheon.engine.worker.backends.recording.recorder import Recorder, refuse, under_way
from cacheon.engine.worker.backends.recording.tape import tensors_of
from cacheon.engine.worker.blame import handed_over


class _Group:
    """A tuple argument, its items in a list where the tape can place them."""

    def __init__(self, kind: type, items: list[Any]) -> None:
        self.kind = kind
        self.items = items

    def make(self) -> Any:
        items = [_made(item) for item in self.items]
        return self.kind(*items) if hasattr(self.kind, "_fields") else tuple(items)


def _recording_launches(run: Callable[..., Any]) -> Callable[..., Any]:
    """`InterpretedFunction.run`, which records what it runs while a recording is on: the
    modes do not see inside a launch. It stands there before the candidate is imported,
    which may keep its kernel's `run`."""

    @wraps(run)
    def recorded(self: Any, *args: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
        recorder = under_way()
        if recorder is None:
            # The interpreter writes every argument back, inputs too: that is no operator
            # of the candidate's.
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                return handed_over(run, self, *args, grid=grid, warmup=warmup, **keywords)
        if warmup:
            return None
        _check(recorder, [*args, *keywords.values()])
        grids: list[Any] = []
        laid: list[Any] = list(args)
        for index, value in enumerate(args):
            _lay(recorder, laid, index, value)
        named = dict(keywords)
        for name, value in keywords.items():
            _lay(recorder, named, name, value)

        def frozen(meta: Any) -> Any:
            # The candidate's Python decides the grid once, as under a capture.
            if not grids:
                grids.append(grid(meta) if callable(grid) else grid)
            return grids[0]

        def launch() -> object:
            arguments = [_made(value) for value in laid]
            options = {name: _made(value) for name, value in named.items()}
            return run(self, *arguments, grid=frozen, warmup=False, **options)

        with _disable_current_modes(), torch._C.DisableTorchFunction():
            result = handed_over(run, self, *args, grid=frozen, warmup=False, **keywords)
        recorder.tape.append(launch)
        return result

    return recorded


def _check(recorder: Recorder, values: list[Any]) -> None:
    memory = recorder.memory
    tensors = tensors_of([_base(value) for value in values])
    recorder.pending.touched("a kernel", tensors, ())
    for tensor in tensors:
        memory.notice(tensor)
        key = storage_key(tensor)
        if key in memory.constant:
            raise recorder.refuse(Violation("CG102", "a kernel is given host data"))
        memory.live(key)


def _base(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_base(item) for item in value]
    return getattr(value, "base", None) if _is_wrapper(value) else value


def _is_wrapper(value: Any) -> bool:
    return type(value).__name__ in ("TensorDescriptor", "TensorWrapper")


def _lay(recorder: Recorder, container: Any, key: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        recorder.tape.place(container, key, value)
    elif isinstance(value, tuple):
        group = _Group(type(value), list(value))
        container[key] = group
        for index, item in enumerate(value):
            _lay(recorder, group.items, index, item)
    elif _is_wrapper(value):
        container[key] = held = copy.copy(value)
        fields = vars(held)
        fields.pop("data", None)
        _lay(recorder, fields, "base", value.base)


def _made(value: Any) -> Any:
    return value.make() if isinstance(value, _Group) else value


def without_a_driver(recording: Callable[[], bool], needs: Any) -> list[tuple[Any, str, Any]]:
    """What to put in Triton's place where no GPU is: (owner, name, value)."""
    if importlib.util.find_spec("triton") is None:
        return []
    # Imported here where nobody did before: the candidate would do so too late.
    autotuner: Any = importlib.import_module("triton.runtime.autotuner")
    jit: Any = importlib.import_module("triton.runtime.jit")
    interpreter: Any = importlib.import_module("triton.runtime.interpreter")
    interpreted = interpreter.InterpretedFunction

    def bench(self: Any, *args: object, config: object, **meta: object) -> list[float]:
        if recording():
            raise refuse(Violation("CG502", "a kernel is tuned while a capture is on"))
        return [0.0, 0.0, 0.0]

    return [
        (autotuner.Autotuner, "_bench", bench),
        (jit.JITFunction, "run", needs("a compiled Triton kernel")),
        (interpreted, "run", _recording_launches(interpreted.run)),
        *without_ptx(needs),
        *with_bfloat16(needs),
    ]
