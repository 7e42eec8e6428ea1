"""What reads a tensor's memory past its operators, while recording."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.recorder import Recorder

_READS: tuple[tuple[Any, str, str], ...] = (
    (torch.Tensor, "__reduce_ex__", "pickling"),
    (torch.UntypedStorage, "__getitem__", "an element of its storage"),
    (torch.UntypedStorage, "__iter__", "a walk over its storage"),
    (torch.UntypedStorage, "__copy__", "a copy of its storage"),
    (torch.UntypedStorage, "tolist", "a list of its storage"),
    (torch.UntypedStorage, "_write_file", "a file of its storage"),
)


@contextmanager
def guarding_storages(recorder: Recorder) -> Iterator[None]:
    """Refuse pickling, and elements of a storage: no operator shows them."""
    kept: list[tuple[Any, str, Any]] = []

    def guarded(original: Callable[..., Any], what: str) -> Callable[..., Any]:
        @wraps(original)
        def read(self: Any, *args: Any, **keywords: Any) -> Any:
            storage = self.untyped_storage() if isinstance(self, torch.Tensor) else self
            if int(storage._cdata) not in recorder.memory.readable:
                message = f"{what} reads device values on the host"
                raise recorder.refuse(Violation("CG101", message))
            return original(self, *args, **keywords)

        return read

    try:
        for owner, name, what in _READS:
            original = vars(owner).get(name)
            kept.append((owner, name, original))
            setattr(owner, name, guarded(getattr(owner, name), what))
        yield
    finally:
        for owner, name, original in reversed(kept):
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
