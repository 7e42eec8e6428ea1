"""Collectives while recording: each a step that a replay waits for; groups stay as they are."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from cacheon.engine.worker.backends.recording.faults import Violation
from cacheon.engine.worker.backends.recording.recorder import Recorder

_GROUPS = (
    "init_process_group",
    "destroy_process_group",
    "new_group",
    "new_subgroups",
    "split_group",
)
_BARRIERS = ("barrier", "monitored_barrier")


@contextmanager
def guarding_groups(recorder: Recorder) -> Iterator[None]:
    """Refuse what makes or ends process groups, and barriers."""
    core: Any = sys.modules.get("torch.distributed.distributed_c10d")
    kept: list[tuple[Any, str, Any]] = []

    def refusing(rule: str, message: str) -> Any:
        def refuse(*_: object, **__: object) -> NoReturn:
            raise recorder.refuse(Violation(rule, message))

        return refuse

    owners = [core, sys.modules["torch.distributed"]] if core is not None else []
    try:
        for owner in owners:
            for name in (*_GROUPS, *_BARRIERS):
                if hasattr(owner, name):
                    kept.append((owner, name, getattr(owner, name)))
                    waits = name in _BARRIERS
                    message = f"`{name}` waits on the host" if waits else f"`{name}` in the entry"
                    setattr(owner, name, refusing("CG105" if waits else "CG601", message))
        yield
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)
