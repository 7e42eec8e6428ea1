"""The dispatch mode that records every ATen call, and holds it to what a capture allows."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from cacheon.engine.worker.backends.recording import operators
from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.fences import Fence
from cacheon.engine.worker.backends.recording.memory import Memory, storage_key
from cacheon.engine.worker.backends.recording.pending import Pending
from cacheon.engine.worker.backends.recording.tape import Tape, tensors_of
from cacheon.engine.worker.backends.recording.together import Together
from cacheon.engine.worker.blame import handed_over
from cacheon.engine.worker.collectives import BARRIERS, Noting, operator_name


class Recorder(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # The wrapper that torch would put around `__torch_dispatch__` imports all of
        # torch._dynamo at the first call: seconds, in every worker.
        return False

    def __init__(
        self,
        memory: Memory,
        tape: Tape,
        fence: Fence | None = None,
        note: Noting | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.memory = memory
        self.tape = tape
        self.fence = fence
        self.pending = Pending(self.refuse)
        self.together = Together(memory, tape, note, self.pending)
        self.first: Violation | None = None
        self.reading = ""
        """What the caller did, where that explains a read better than the operator."""
        self.guard: AbstractContextManager[Any] = nullcontext()
        """What sees the Python inside an operator of the candidate's."""
        self.trusted = False
        """Inside a function whose CPU form reads what its CUDA form does not."""

    def refuse(self, violation: Violation) -> Violation:
        """Remember the first: a candidate that catches it has broken the capture all the
        same. The caller raises what is returned."""
        if self.first is None:
            self.first = violation
        return violation

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        name = operators.base_name(func)
        inputs = tensors_of(args) + tensors_of(keywords)
        if name in operators.CONSTANTS:
            return self.take_constant(func, args, keywords, inputs)
        for tensor in inputs:
            self.memory.notice(tensor)
        live = any(self.memory.is_live(tensor) for tensor in inputs)
        if func.namespace in operators.COLLECTIVES and operator_name(func) in BARRIERS:
            raise self.refuse(Violation("CG105", f"`{operator_name(func)}` waits on the host"))
        if name in operators.READS:
            if live and not self.trusted:
                raise self.refuse(self._read(name))
            return handed_over(func, *args, **keywords)
        if self.fence is not None:
            breach = self.fence.breach(func, args, keywords)
            if breach is not None:
                raise self.refuse(breach)
        if live:
            self._check(func, name, args, keywords, inputs)
        if func.namespace in operators.COLLECTIVES:
            if any(storage_key(tensor) in self.memory.constant for tensor in inputs):
                raise self.refuse(Violation("CG102", f"`{name}` is given host data"))
            return self.together.take(func, args, keywords)
        body = operators.python_body(func)
        if body is not None:
            # What it is made of is recorded instead: first so that reads inside are seen,
            # then so that no Python of the candidate runs at replay.
            with self, self.guard if func.namespace != "aten" else nullcontext():
                return handed_over(body, *args, **keywords)
        if not operators.is_shape_only(func, name):
            self.pending.touched(name, inputs, operators.written(func, args, keywords))
        result = handed_over(func, *args, **keywords)
        self._note(func, name, args, keywords, inputs, live, result)
        return result

    def _read(self, name: str) -> Violation:
        what = self.reading or f"`{name}`"
        if self.reading.startswith("indexing"):
            return Violation("CG103", f"{what} with a number that only the device knows")
        return Violation("CG101", f"{what} reads a device value on the host")

    def take_constant(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        inputs: list[torch.Tensor],
    ) -> Any:
        fresh = [tensor for tensor in inputs if not self.memory.knows(storage_key(tensor))]
        result = handed_over(func, *args, **keywords)
        for tensor in fresh + (tensors_of(result) if fresh else []):
            self.memory.host(tensor, constant=True)
        return result

    def _check(
        self,
        func: torch._ops.OpOverload,
        name: str,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        inputs: list[torch.Tensor],
    ) -> None:
        try:
            operators.check_shape(func, name, args, keywords)
            host_value = len(args) > 2 and not self._any_live(args[2])
            operators.check_mask_write(name, args, host_value)
            hidden = name in operators.HIDDEN_READS and self._any_live(args[-1])
            hidden |= operators.reads_a_range(name, args, keywords)
            if hidden or name in operators.CHECKED:
                raise self._read(name)
            if name in operators.COPIED:
                raise Violation("CG102", f"`{name}` copies from the device to learn how it went")
            constants = [t for t in inputs if storage_key(t) in self.memory.constant]
            copies = name == "copy_"
            if any(tensor.dim() > 0 for tensor in constants) or (constants and copies):
                raise Violation("CG102", f"`{name}` uses host data beside device data")
        except Violation as violation:
            raise self.refuse(violation) from None

    def _any_live(self, value: object) -> bool:
        return any(self.memory.is_live(tensor) for tensor in tensors_of(value))

    def _note(
        self,
        func: torch._ops.OpOverload,
        name: str,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        inputs: list[torch.Tensor],
        live: bool,
        result: Any,
    ) -> None:
        memory = self.memory
        keys = {storage_key(tensor) for tensor in inputs}
        made: list[tuple[int, torch.Tensor]] = []
        for index, tensor in enumerate(tensors_of(result)):
            if storage_key(tensor) not in keys:
                made.append((index, tensor))
                if inputs and not live:
                    held = any(key in memory.constant for key in keys)
                    memory.host(tensor, constant=held)
                else:
                    memory.adopt(tensor)
        writes = func._schema.is_mutable and not operators.is_metadata(func, name)
        if writes and live:
            for tensor in operators.written(func, args, keywords):
                memory.live(storage_key(tensor))
        if operators.is_allocation(name) or not (made or writes):
            return
        self.tape.add(func, args, keywords, made)


_UNDER_WAY: list[Recorder] = []


@contextmanager
def announced(recorder: Recorder) -> Iterator[None]:
    """Let other threads, and launches, know of this recording."""
    _UNDER_WAY.append(recorder)
    try:
        yield
    finally:
        _UNDER_WAY.pop()


def under_way() -> Recorder | None:
    """The recorder of the recording that is on, in whichever thread."""
    return _UNDER_WAY[-1] if _UNDER_WAY else None


def current() -> Recorder | None:
    """The recorder of this thread's recording, where one is on."""
    modes = _get_current_dispatch_mode_stack()
    return next((mode for mode in reversed(modes) if isinstance(mode, Recorder)), None)


def refuse(violation: Violation) -> Violation:
    """As `Recorder.refuse` of the recording that is on, where one is: in this thread or in
    another, whose capture is broken all the same."""
    recorder = under_way()
    return violation if recorder is None else recorder.refuse(violation)
