"""Python kernels that a candidate gives to operators through `torch.library.Library`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from cacheon.engine.worker.backends.recording.operators import KERNELS, KERNELS_OF_A_CPU, UNSEEN
from cacheon.engine.worker.backends.recording.recorder import current
from cacheon.engine.worker.blame import handed_over


def noting_kernels(implement: Callable[..., Any]) -> Callable[..., Any]:
    """`Library.impl`, which keeps the Python it is given: the dispatcher hands none out."""

    @wraps(implement)
    def noted(
        self: Any, name: Any, function: Any, dispatch_key: str = "", *args: Any, **keywords: Any
    ) -> Any:
        given = function
        if not isinstance(function, torch._ops.OpOverload):
            given = _guarded(function)
        result = implement(self, name, given, dispatch_key, *args, **keywords)
        operator = name.name() if isinstance(name, torch._ops.OpOverload) else str(name)
        qualified = operator if "::" in operator else f"{self.ns}::{operator}"
        qualified = qualified.removesuffix(".default")
        if keywords.get("with_keyset"):
            UNSEEN.add(qualified)
        elif dispatch_key in KERNELS_OF_A_CPU and given is not function:
            KERNELS[qualified, dispatch_key] = function
        return result

    return noted


def _guarded(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A composite kernel runs before the recorder sees its operator, and after the guard
    has: it is taken in there again."""

    @wraps(kernel)
    def run(*args: Any, **keywords: Any) -> Any:
        recorder = current()
        if recorder is None:
            return handed_over(kernel, *args, **keywords)
        with recorder.guard:
            return handed_over(kernel, *args, **keywords)

    return run
