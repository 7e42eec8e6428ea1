"""Hints: which lines of an entry wait for the device when it is called eagerly."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.engine.backends import entries
from tests.engine.backends.entries import affine, reading
from tests.engine.backends.rig import Rig

from cacheon.engine.worker.backends.recording import Watch
from cacheon.engine.worker.waits import Waits

HERE = str(Path(entries.__file__).parent)
SAID = "called a synchronizing CUDA operation (Triggered internally at …)"
PROTOTYPE = "Synchronization debug mode is a prototype feature and does not …"


WAIT = f"""
def entry(self):
    if self.mode == "warn":
        warnings.warn({SAID!r}, stacklevel=1)
"""


class Torch:
    """Warns as torch does: once as the mode is chosen, then of each wait."""

    def __init__(self) -> None:
        self.mode = "default"
        self.modes: list[str] = []
        self.wait = compiled(WAIT, "/torch/library.py")["entry"].__get__(self)

    def choose(self, mode: str) -> None:
        warnings.warn(PROTOTYPE, stacklevel=1)
        self.mode = mode
        self.modes.append(mode)


def compiled(source: str, file: str) -> dict[str, Callable[..., None]]:
    """What a source defines that lies in another file."""
    space: dict[str, Any] = {"warnings": warnings}
    exec(compile(source, file, "exec"), space)
    return space


def called(entry: Callable[[Torch], object], root: str = HERE) -> tuple[Waits, Torch]:
    waits, fake = Waits(root), Torch()
    waits.call(entry, lambda: [fake], fake.choose)
    return waits, fake


def test_a_line_that_waits_is_noted_once_and_the_mode_is_left() -> None:
    def entry(fake: Torch) -> None:
        for _ in range(3):
            fake.wait()

    waits, fake = called(entry)
    (where,) = waits.places
    assert (where.file, where.function, where.source) == ("test_waits.py", "entry", "fake.wait()")
    assert fake.modes == ["warn", "default"]


def test_the_line_is_the_candidate_s_that_called_the_library() -> None:
    source = "def library(fake):\n    fake.wait()\n"
    library = compiled(source, "/elsewhere/library.py")["library"]
    waits, _ = called(lambda fake: library(fake))
    assert [where.function for where in waits.places] == ["<lambda>"]
    assert called(lambda fake: fake.wait(), root="/elsewhere/deeper")[0].places == []


def test_only_the_first_few_are_kept() -> None:
    lines = "".join("    fake.wait()\n" for _ in range(9))
    entry = compiled(f"def entry(fake):\n{lines}", f"{HERE}/k.py")["entry"]
    assert [where.line for where in called(entry)[0].places] == [2, 3, 4, 5]


def test_warnings_of_its_own_reach_whom_they_would() -> None:
    def entry(fake: Torch) -> None:
        warnings.warn("mine", DeprecationWarning, stacklevel=1)

    with pytest.warns(DeprecationWarning, match="mine"):
        waits, _ = called(entry)
    assert waits.places == []


def test_an_entry_that_makes_exceptions_of_warnings_is_called_again_without() -> None:
    calls = []

    def entry(fake: Torch) -> None:
        calls.append(fake.mode)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fake.wait()

    waits, fake = called(entry)
    assert calls == ["warn", "default"]
    waits.call(entry, lambda: [fake], fake.choose)
    assert calls == ["warn", "default", "default"]


@pytest.mark.parametrize("kind", [ValueError, UserWarning])
def test_an_exception_of_its_own_passes_and_the_mode_is_left(kind: type[Exception]) -> None:
    fake = Torch()

    def entry(_: Torch) -> None:
        raise kind("mine")

    with pytest.raises(kind, match="mine"):
        Waits(HERE).call(entry, lambda: [fake], fake.choose)
    assert fake.mode == "default"


def test_a_warm_up_notes_where_the_entry_reads(rig: Rig) -> None:
    """On a GPU too: torch's own debug mode says it there."""
    rig.backend.waits.root = HERE
    rig.backend.warm(rig.calls(0), reading)
    assert [where.function for where in rig.backend.waits.places] == ["reading"]
    rig.backend.warm(rig.calls(0), affine)
    assert rig.backend.waits.places == []


def test_what_happens_in_the_first_call_only_is_no_hint(rig: Rig) -> None:
    scale: dict[tuple[int, ...], float] = {}

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        if x.shape not in scale:
            scale[x.shape] = float(x[0] * 0 + 2)
        torch.mul(x, scale[x.shape], out=out)

    rig.backend.waits.root = HERE
    rig.backend.warm(rig.calls(0), entry)
    assert rig.backend.waits.places == []


WATCHED: dict[str, tuple[int, Callable[[torch.Tensor], object]]] = {
    "a read": (1, lambda x: x.sum().item()),
    "a branch": (1, lambda x: bool((x > 0).any())),
    "a copy": (1, lambda x: x.cpu()),
    "a size": (1, lambda x: x.nonzero()),
    "of a host tensor": (0, lambda x: (torch.tensor([1.0]) * 2).sum().item()),
    "of a host tensor that was made one of the device": (
        1,
        lambda x: torch.zeros(4).copy_(x).tolist(),
    ),
    "shapes": (0, lambda x: x.view(2, 2).shape[0]),
    "another device": (0, lambda x: x.to(torch.device("meta"))),
}


@pytest.mark.parametrize("name", WATCHED)
def test_a_watch_notes_and_refuses_nothing(name: str) -> None:
    count, body = WATCHED[name]
    watched: list[int] = []
    x = torch.ones(4)
    with Watch([x], lambda: watched.append(1)):
        body(x)
    assert len(watched) == count


def test_a_watch_leaves_it_to_torch_to_say_that_there_is_no_device() -> None:
    def lacking() -> str:
        with pytest.raises((RuntimeError, AssertionError)) as caught:
            torch.zeros(1, device="cuda:99")
        return str(caught.value)

    alone = lacking()
    with Watch([], lambda: None):
        assert lacking() == alone
