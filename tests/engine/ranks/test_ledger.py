"""What a rank has called, read from outside."""

import os
import threading
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


def test_what_has_no_room_is_counted(ends: tuple[SharedLedger, Ledger]) -> None:
    shared, worker = ends
    for number in range(2000):
        worker.add(f"all_reduce {number}")
    *read, last = shared.read()
    assert len(read) < NBYTES // 128
    assert read[0].what == "all_reduce 0"
    assert read[-1].what == f"all_reduce {len(read) - 1}"
    assert last.what == f"{2000 - len(read)} more"
    worker.clear()
    worker.add("x" * 500)
    assert shared.read() == (Called(0, "x" * 124),)


@pytest.mark.parametrize("count", [1, 511, 512, 1 << 40, (1 << 64) - 1])
def test_a_count_that_lies_is_read_to_the_end_of_the_page(
    ends: tuple[SharedLedger, Ledger], count: int
) -> None:
    shared, _ = ends
    os.pwrite(shared.descriptor, count.to_bytes(8, "little"), 0)
    read = shared.read()
    assert len(read) == min(count, 512)
    assert {entry.what for entry in read[:511]} == {""}
    assert len(read) < 512 or read[-1].what == f"{count - 511} more"


def test_what_a_collective_is_made_of_is_not_noted_again(
    ends: tuple[SharedLedger, Ledger],
) -> None:
    shared, worker = ends
    elsewhere = threading.Thread(target=lambda: note(worker, "broadcast int32 1 from 0"))
    with worker.noting("all_reduce float32 4"):
        note(worker, "all_reduce float32 4")
        # Another thread's is one of its own.
        elsewhere.start()
        elsewhere.join()
    with pytest.raises(ValueError, match="no"), worker.noting("reduce float32 4 to 1"):
        raise ValueError("no")
    note(worker, "gather float32 4 to 0")
    assert [entry.what.split()[0] for entry in shared.read()] == [
        "all_reduce",
        "broadcast",
        "reduce",
        "gather",
    ]


def note(ledger: Ledger, what: str) -> None:
    with ledger.noting(what):
        pass


def test_the_grader_can_begin_it_anew(ends: tuple[SharedLedger, Ledger]) -> None:
    shared, worker = ends
    worker.add("all_reduce")
    shared.clear()
    assert shared.read() == ()
    worker.add("all_gather")
    assert shared.read() == (Called(0, "all_gather"),)


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
