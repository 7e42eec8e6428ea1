"""What a failed capture reports, and that the backend goes on after it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.engine.backends import entries
from tests.engine.backends.entries import affine, shifted
from tests.engine.backends.rig import Rig

from cacheon.engine.worker.backends.port import Failure
from cacheon.engine.worker.blame import blame

HERE = str(Path(entries.__file__).parent)

FAULTS = {
    "raising": (entries.raising, "raise ValueError"),
    "reading": (entries.reading, "x[0].item()"),
    "waiting": (entries.waiting, "torch.cuda.synchronize()"),
}


def failed_capture(rig: Rig, case: int, entry: Callable[..., object]) -> BaseException:
    rig.backend.warm(rig.calls(case), entry if entry is not entries.raising else affine)
    with pytest.raises(Exception) as caught:
        rig.backend.capture(case, rig.calls(case), entry, False)
    return caught.value


@pytest.mark.parametrize("fault", FAULTS)
def test_the_line_of_the_entry_is_known(rig: Rig, fault: str) -> None:
    entry, source = FAULTS[fault]
    error = failed_capture(rig, 0, entry)
    culprit, where = blame(error, HERE)
    assert where is not None
    assert (where.file, where.function) == ("entries.py", fault)
    assert source in where.source
    if fault == "raising":
        assert isinstance(culprit, ValueError)
        assert str(culprit) == "the entry's own words"
    elif rig.backend.name == "rehearsal":
        assert isinstance(culprit, Failure)
        assert culprit.rule == {"reading": "CG101", "waiting": "CG105"}[fault]
    assert not rig.backend.is_lost(error)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_capture_leaves_the_backend_usable(rig: Rig, fault: str) -> None:
    entry, _ = FAULTS[fault]
    rig.capture(0, shifted)
    failed_capture(rig, 1, entry)
    rig.refresh(0)
    rig.backend.replay(0, 2)
    assert rig.all_answered(0, [0, 1], shifted)
    rig.backend.eager(rig.calls(1)[0], affine, 1, True)
    rig.capture(1, affine)
    for case, function in ((0, shifted), (1, affine)):
        rig.refresh(case)
        rig.backend.replay(case, 1)
        assert rig.all_answered(case, [0], function)


@pytest.mark.parametrize("fault", FAULTS)
def test_so_does_one_before_any_other(rig: Rig, fault: str) -> None:
    entry, _ = FAULTS[fault]
    failed_capture(rig, 0, entry)
    assert not torch.cuda.is_current_stream_capturing()
    rig.capture(0, affine)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)


def test_a_call_that_fails_late_takes_the_whole_graph_with_it(rig: Rig) -> None:
    """The graph that was there before stays the case's."""
    rig.capture(0, affine)
    turn = iter([shifted, shifted, entries.raising])
    with pytest.raises(ValueError, match="the entry's own words"):
        rig.backend.capture(0, rig.calls(0), lambda x, out: next(turn)(x, out), False)
    rig.refresh(0)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)


def test_an_exception_in_a_recapture_comes_through(rig: Rig) -> None:
    rig.capture(0, affine)
    with pytest.raises(ValueError, match="the entry's own words"):
        rig.backend.recapture(rig.calls(0), entries.raising, 3)
    rig.refresh(0)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)


def test_an_exception_that_is_no_exception_comes_through(rig: Rig) -> None:
    class Leaving(BaseException):
        pass

    def entry(x: torch.Tensor, out: torch.Tensor) -> None:
        raise Leaving

    with pytest.raises(Leaving):
        rig.backend.capture(0, rig.calls(0), entry, False)
    rig.capture(0, affine)
    rig.backend.replay(0, 1)
    assert rig.all_answered(0, [0], affine)
