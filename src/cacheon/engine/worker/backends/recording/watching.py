"""Notes what the guard would refuse, while a call runs eagerly, and refuses nothing."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from cacheon.engine.worker.backends.recording.guard import Guard
from cacheon.engine.worker.backends.recording.memory import Memory, storage_key
from cacheon.engine.worker.backends.recording.recorder import Recorder
from cacheon.engine.worker.backends.recording.tape import Tape, tensors_of


class Watch(Guard):
    """`note` is called within the call of torch's that a capture would not survive. Like
    torch's own debug mode it sees what Python asks for, and not what an operator does."""

    def __init__(self, arguments: Sequence[object], note: Callable[[], None]) -> None:
        memory = Memory()
        super().__init__(Recorder(memory, Tape(memory)))
        self._note = note
        for tensor in tensors_of(list(arguments)):
            memory.notice(tensor)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        memory, given = self.recorder.memory, tensors_of([args, kwargs or {}])
        if any(memory.is_live(tensor) for tensor in given):
            if isinstance(result, torch.Tensor) and result is (args or (None,))[0]:
                memory.live(storage_key(result))
        elif given:
            for tensor in tensors_of(result):
                memory.host(tensor, constant=False)
        return result

    def _refuse(self, rule: str, message: str) -> None:
        self._note()

    def _is_host(self, device: object) -> bool:
        # That it needs a device is for torch to say, and for the candidate to meet.
        return not (isinstance(device, str) and device.startswith("cuda")) and super()._is_host(
            device
        )
