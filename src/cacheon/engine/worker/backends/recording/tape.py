"""The flat list of steps that a replay walks, and the places their tensors stand in.

A step is a closure over containers that already hold its arguments. Tensors over outer
storages are put into their places as a replay begins and taken out as it ends, so that
the tape never keeps such a storage alive, and a step has nothing to look up.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from cacheon.engine.worker.backends.recording.memory import Memory, View

Step = Callable[[], object]


class Tape:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.steps: list[Step] = []
        self._places: dict[View, list[tuple[Any, Any]]] = {}
        self._finish: Step | None = None

    def append(self, step: Step, finish: Step | None = None) -> None:
        """Add a step. What it only starts, `finish` waits for: before the next step that
        needs no finish of its own, and at the latest when the steps are over."""
        if finish is None and self._finish is not None:
            self.steps.append(self._finish)
        self._finish = finish
        self.steps.append(step)

    def place(self, container: Any, key: Any, tensor: torch.Tensor) -> None:
        """Let `container[key]` hold the tensor whenever the steps run."""
        storage = self.memory.notice(tensor)
        if storage in self.memory.outer:
            self._places.setdefault(View.of(storage, tensor), []).append((container, key))
            container[key] = None
        else:
            # A tensor object of our own: the candidate may give its own another shape.
            container[key] = tensor.detach() if storage else tensor

    def lay(self, value: Any) -> Any:
        """`value` with every tensor in lists, tuples and dicts in its place."""
        if isinstance(value, torch.Tensor):
            raise TypeError("a bare tensor has no place")
        if isinstance(value, list | tuple):
            items: list[Any] = list(value)
            for index, item in enumerate(items):
                self._lay_into(items, index, item)
            return items
        if isinstance(value, dict):
            table: dict[Any, Any] = dict(value)
            for key, item in value.items():
                self._lay_into(table, key, item)
            return table
        return value

    def _lay_into(self, container: Any, key: Any, item: Any) -> None:
        if isinstance(item, torch.Tensor):
            self.place(container, key, item)
        elif isinstance(item, list | tuple | dict):
            container[key] = self.lay(item)

    def add(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        keywords: dict[str, Any],
        results: Sequence[tuple[int, torch.Tensor]] = (),
        finish: Step | None = None,
    ) -> None:
        """Add a call; `results` are those of its results (with their place among the
        tensors it returns) whose memory the call made, and a replay fills again. `finish`
        as in `append`."""
        laid, named = self.lay(list(arguments)), self.lay(keywords)
        kept = [(index, result.detach()) for index, result in results if result.numel()]

        def call() -> object:
            return function(*laid, **named)

        def call_and_copy() -> None:
            returned = function(*laid, **named)
            if isinstance(returned, torch.Tensor):
                kept[0][1].copy_(returned)
                return
            tensors = tensors_of(returned)
            for index, result in kept:
                result.copy_(tensors[index])

        self.append(call_and_copy if kept else call, finish)

    def replay(self) -> None:
        storages = {key: outer.recall() for key, outer in self.memory.outer.items()}
        with torch.inference_mode():
            try:
                for view, places in self._places.items():
                    tensor = view.over(storages[view.key])
                    for container, key in places:
                        container[key] = tensor
                for step in self.steps:
                    step()
                if self._finish is not None:
                    self._finish()
            finally:
                for places in self._places.values():
                    for container, key in places:
                        container[key] = None


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors in a value, in order, lists, tuples and dicts looked into."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_of(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    return []
