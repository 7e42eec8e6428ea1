"""Entries with the signature (x, out), float32 (count,), as a candidate would write them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

WORKSPACE = 16 << 20
"""Bytes: an allocator gives a block of this size a segment of its own."""


def affine(x: torch.Tensor, out: torch.Tensor) -> None:
    """out = 2 x + 1, with a temporary between."""
    torch.add(torch.mul(x, 2.0), 1.0, out=out)


def shifted(x: torch.Tensor, out: torch.Tensor) -> None:
    """out = 2 x + 1 + x / 4, with several temporaries that live at once."""
    first = torch.mul(x, 2.0)
    second = torch.div(x, 4.0)
    third = torch.add(first, 1.0)
    torch.add(third, second, out=out)


def nothing(x: torch.Tensor, out: torch.Tensor) -> None:
    """Adds no node, though it allocates."""
    torch.empty_like(x)


def returning(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    affine(x, out)
    return out


def raising(x: torch.Tensor, out: torch.Tensor) -> None:
    affine(x, out)
    raise ValueError("the entry's own words")


def reading(x: torch.Tensor, out: torch.Tensor) -> None:
    """Illegal under capture: the host waits for a device value."""
    out.fill_(x[0].item())


def waiting(x: torch.Tensor, out: torch.Tensor) -> None:
    """Illegal under capture: the host waits for the device."""
    affine(x, out)
    torch.cuda.synchronize()


class Counted:
    """An entry that counts how often its Python runs."""

    def __init__(self, entry: Callable[..., object] = affine) -> None:
        self.entry = entry
        self.calls = 0

    def __call__(self, *arguments: Any) -> object:
        self.calls += 1
        return self.entry(*arguments)


class Workspace:
    """Works in memory that it keeps between calls, at an address that a graph then holds."""

    def __init__(self) -> None:
        self.kept: torch.Tensor | None = None

    def __call__(self, x: torch.Tensor, out: torch.Tensor) -> None:
        if self.kept is None:
            self.kept = torch.empty(WORKSPACE // 4, device=x.device)
        work = self.kept[: x.numel()]
        torch.mul(x, 2.0, out=work)
        torch.add(work, 1.0, out=out)


@cache
def side_stream() -> Any:
    return torch.cuda.Stream()


def unforked(x: torch.Tensor, out: torch.Tensor) -> None:
    """Works on a stream that never waited for the caller's."""
    with torch.cuda.stream(side_stream()):
        torch.mul(x, 2.0, out=out)
        out.add_(1.0)
    torch.cuda.current_stream().wait_stream(side_stream())


def unjoined(x: torch.Tensor, out: torch.Tensor) -> None:
    """The caller's stream never waits for what this leaves on another."""
    side_stream().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side_stream()):
        # Five milliseconds or so: longer than any copy that the caller makes next.
        torch.cuda._sleep(10_000_000)
        torch.mul(x, 2.0, out=out)
        out.add_(1.0)


def forked_and_joined(x: torch.Tensor, out: torch.Tensor) -> None:
    side_stream().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side_stream()):
        torch.mul(x, 2.0, out=out)
        out.add_(1.0)
    torch.cuda.current_stream().wait_stream(side_stream())
