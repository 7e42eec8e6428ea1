"""What a rank has called, read from outside."""

import os
from collections.abc import Iterator

import pytest

from cacheon.engine.grader.memory import SharedLedger
from cacheon.engine.ledger import NBYTES, Called, Ledger


@pytest.fixture
def ends() -> Iterator[tuple[SharedLedger, Ledger]]:
    shared = SharedLedger()
    worker = Ledger(shared.descriptor)
    yield shared, worker
    worker.close()
    shared.close()


def test_what_is_written_is_read_on_the_other_side(ends: tuple[SharedLedger, Ledger]) -> None:
    shared, worker = ends
    assert shared.read() == ()
    worker.add("all_reduce float32 4")
    worker.next_call()
    worker.add("broadcast int32 8 from 1")
    assert shared.read() == (
        Called(0, "all_reduce float32 4"),
        Called(1, "broadcast int32 8 from 1"),
    )


def test_a_new_command_begins_anew(ends: tuple[SharedLedger, Ledger]) -> None:
    shared, worker = ends
    worker.next_call()
    worker.add("all_reduce")
    worker.clear()
    assert shared.read() == ()
    worker.add("all_gather")
    assert shared.read() == (Called(0, "all_gather"),)


def test_what_has_no_room_is_left_out(ends: tuple[SharedLedger, Ledger]) -> None:
    shared, worker = ends
    for number in range(2000):
        worker.add(f"all_reduce {number}")
    read = shared.read()
    assert len(read) < NBYTES // 128
    assert read[0].what == "all_reduce 0"
    assert read[-1].what == f"all_reduce {len(read) - 1}"
    worker.clear()
    worker.add("x" * 500)
    assert shared.read() == (Called(0, "x" * 124),)


def test_whatever_stands_there_can_be_read(ends: tuple[SharedLedger, Ledger]) -> None:
    """A candidate shares the page with its worker."""
    shared, _ = ends
    for byte in (b"\xff", b"\x00", b"\x1b", b"a"):
        os.pwrite(shared.descriptor, byte * NBYTES, 0)
        for entry in shared.read():
            assert entry.what.isprintable() or not entry.what
            assert entry.call >= 0


def test_nobody_can_cut_the_page_short(ends: tuple[SharedLedger, Ledger]) -> None:
    shared, _ = ends
    with pytest.raises(PermissionError):
        os.ftruncate(shared.descriptor, 16)
