"""What a caller finds again after a call: its tensors as they were, and its stream.

The harness makes new tensors over the same memory for each call, so that one which comes
back turned, cut or over other memory would spoil nothing here. A server's are in use
elsewhere: its next layer reads them, or takes them over from a pool.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch

from cacheon.engine.worker.backends.port import Entry, Failure


class _Form(NamedTuple):
    """Which memory a tensor shows, and how."""

    address: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "_Form":
        return cls(tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())

    def told_from(self, other: "_Form") -> str:
        if self.dtype != other.dtype:
            return f"{other.dtype}, not {self.dtype}"
        if self.shape != other.shape:
            return f"of shape {list(other.shape)}, not {list(self.shape)}"
        if self.strides != other.strides:
            return f"of strides {list(other.strides)}, not {list(self.strides)}"
        return "over other memory"


def keeping(entry: Entry, names: Sequence[str]) -> Entry:
    """The entry, which raises Failure CG202 where a tensor of its arguments, called so in
    `names`, comes back in another form, and CG401 where another stream is current."""

    @functools.wraps(entry)
    def call(*arguments: object) -> object:
        given = [
            (name, value)
            for name, value in zip(names, arguments, strict=True)
            if isinstance(value, torch.Tensor)
        ]
        before, stream = _forms(given), torch.cuda.current_stream()
        returned = entry(*arguments)
        for (name, _), was, now in zip(given, before, _forms(given), strict=True):
            if was != now:
                raise Failure("CG202", f"the caller's {name} came back {was.told_from(now)}")
        if torch.cuda.current_stream() != stream:
            raise Failure("CG401", "the caller's stream is not the current one any more")
        return returned

    return call


def _forms(given: Sequence[tuple[str, torch.Tensor]]) -> list[_Form]:
    # Looking is no call of the candidate's: a recording shall not see it.
    with torch._C.DisableTorchFunction():
        return [_Form.of(tensor) for _, tensor in given]
