"""One call of a candidate, recorded and replayed."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import torch

from cacheon.engine.worker.backends.recording.collectives import guarding_groups
from cacheon.engine.worker.backends.recording.fences import Fence
from cacheon.engine.worker.backends.recording.guard import Guard
from cacheon.engine.worker.backends.recording.memory import Memory
from cacheon.engine.worker.backends.recording.recorder import Recorder, announced
from cacheon.engine.worker.backends.recording.storages import guarding_storages
from cacheon.engine.worker.backends.recording.tape import Tape
from cacheon.engine.worker.blame import handed_over
from cacheon.engine.worker.collectives import Noting


class Recording:
    """`arguments` stand for device memory. They are held weakly: the caller keeps them.
    `fence` says what of the examiner's memory may be written; `note` is told of the
    collectives, as they are recorded and as a replay begins each."""

    def __init__(
        self,
        arguments: Sequence[torch.Tensor],
        fence: Fence | None = None,
        note: Noting | None = None,
    ) -> None:
        self._fence, self._note = fence, note
        self._memory = Memory()
        for tensor in arguments:
            self._memory.notice(tensor)
        self._tape = Tape(self._memory)

    @property
    def steps(self) -> int:
        """How many calls a replay makes."""
        return len(self._tape.steps)

    def record(self, function: Callable[..., object], *args: object) -> object:
        """Call the function once. Raises Violation where a capture would not survive it,
        also where the function catches that itself, or raises something else after."""
        recorder = Recorder(self._memory, self._tape, self._fence, self._note)
        raised: BaseException | None = None
        result: object = None
        try:
            try:
                with ExitStack() as stack:
                    stack.enter_context(torch.no_grad())
                    stack.enter_context(announced(recorder))
                    stack.enter_context(guarding_groups(recorder))
                    stack.enter_context(guarding_storages(recorder))
                    stack.enter_context(recorder)
                    stack.enter_context(Guard(recorder))
                    result = handed_over(function, *args)
                recorder.pending.expect_none()
            except BaseException as error:
                raised = error
            # Outside the handler: what was raised later is no context of what came first.
            if recorder.first is not None:
                raise recorder.first
            if raised is not None:
                raise raised
            return result
        finally:
            # An exception holds its frames, and they hold the candidate's tensors.
            recorder.first = raised = None

    def replay(self) -> None:
        """Make the recorded calls again on the same memory. Raises Violation CG302 where
        memory that the call did not make itself is gone."""
        self._tape.replay()
