"""From what ranks have called to who waits for whom."""

import pytest

from cacheon.engine.grader.waiting import Heard, missing, parting
from cacheon.engine.ledger import Called
from cacheon.engine.protocol import Done

SUM, GATHER = "all_reduce float32 4", "all_gather float32 4"
ANSWERED = Heard(0.25, Done())


def calls(*whats: str, each: int = 1) -> tuple[Called, ...]:
    """`each` collectives in every call of the entry."""
    return tuple(Called(number // each, what) for number, what in enumerate(whats))


def test_ranks_that_call_the_same_do_not_part() -> None:
    assert parting([calls(SUM, GATHER)] * 3) is None
    assert parting([()] * 3) is None


@pytest.mark.parametrize(
    ("other", "place", "whats"),
    [
        ((), 0, (SUM, "")),
        (calls(SUM), 1, (GATHER, "")),
        (calls(SUM, SUM), 1, (GATHER, SUM)),
        (calls(GATHER, SUM), 0, (SUM, GATHER)),
        (calls(SUM, GATHER, SUM), 2, ("", SUM)),
    ],
)
def test_the_first_difference_is_named(
    other: tuple[Called, ...], place: int, whats: tuple[str, str]
) -> None:
    found = parting([calls(SUM, GATHER), other])
    assert found is not None
    assert (found.place, found.whats, found.ranks, found.odd) == (place, whats, (0, 1), False)
    assert f"collective {place + 1} of the step" in found.words


def test_a_call_that_lacks_its_collective_is_told_from_the_next() -> None:
    """Rank 1 leaves out that of call 1: what it calls in call 2 is none of call 1."""
    found = parting([calls(SUM, SUM, SUM), (Called(0, SUM), Called(2, SUM))])
    assert found is not None
    assert (found.call, found.whats) == (1, (SUM, ""))


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_of_three_the_odd_one_is_named(odd: int) -> None:
    lists = [calls(SUM)] * 3
    lists[odd] = ()
    found = parting(lists)
    assert found is not None
    assert found.odd
    assert found.ranks[1] == odd


def test_what_two_ranks_do_alone_is_not_compared() -> None:
    assert parting([calls("send float32 4", SUM), calls("recv float32 4", SUM)]) is None
    assert parting([calls("of 2: all_gather float32 4"), ()]) is None


def test_kernels_are_compared_unless_fewer_ranks_talk() -> None:
    kernel = Called(2, "kernel ncclDevKernel_AllReduce")
    found = parting([(*calls(SUM), kernel), calls(SUM)])
    assert found is not None
    assert found.whats[0] == kernel.what
    assert parting([(*calls("of 2: all_reduce", SUM, each=2), kernel), calls(SUM)]) is None


def test_a_rank_that_never_came_is_the_one_that_is_waited_for() -> None:
    found = missing([0, 1], {}, [calls(SUM), ()], 4.0)
    assert (found.rank, found.apart) == (1, False)
    assert "rank 1 has not answered and called no collective" in found.words
    assert "rank 0 has not answered since collective 1 of the step, all_reduce" in found.words
    assert found.words.endswith("given up after 4 s")


def test_a_rank_that_answered_with_fewer_left_one_out() -> None:
    found = missing([0, 2], {1: ANSWERED}, [calls(SUM), (), calls(SUM)], 4.0)
    assert (found.rank, found.apart) == (1, True)
    assert "rank 1 answered after 0.25 s with no collective" in found.words
    assert "rank 0 calls all_reduce float32 4, rank 1 calls nothing" in found.words


def test_two_that_wait_in_different_collectives_are_apart() -> None:
    found = missing([0, 1], {}, [calls(SUM), calls(GATHER)], 4.0)
    assert found.apart
    assert "rank 0 calls all_reduce float32 4, rank 1 calls all_gather float32 4" in found.words


def test_of_a_graph_nobody_knows_how_far_it_came() -> None:
    found = missing([0], {1: ANSWERED}, [calls(SUM, SUM), calls(SUM, SUM)], 2.0, in_graph=True)
    assert found.words.startswith("rank 0 has not answered; its graph holds 2 collectives")
    assert not found.apart


def test_where_all_hang_alike_the_first_that_is_silent_is_named() -> None:
    found = missing([1], {0: ANSWERED}, [calls(SUM), calls(SUM)], 2.0)
    assert (found.rank, found.apart) == (1, False)


def test_of_several_that_came_equally_far_none_is_named() -> None:
    assert missing([0, 1], {}, [calls(SUM), calls(SUM)], 4.0).rank == -1
    assert missing([0, 1], {}, [(), ()], 4.0).rank == -1
    assert missing([1], {0: ANSWERED}, [calls(SUM), calls(SUM)], 4.0).rank == 1


# --- what may differ, and what a ledger may hold --------------------------------------------------


def test_a_shape_that_holds_as_many_elements_is_the_same() -> None:
    """`view(-1)` on one rank sums the same cells."""
    assert parting([calls("all_reduce float32 4x512"), calls("all_reduce float32 2048")]) is None
    assert parting([calls("all_reduce float32 4x512"), calls("all_reduce float32 2047")])
    assert parting([calls("broadcast float32 4x5 from 1"), calls("broadcast float32 20 from 0")])


def test_ranks_that_reduce_otherwise_part() -> None:
    found = parting([calls(SUM), calls("all_reduce max float32 4")])
    assert found is not None
    assert "rank 0 calls all_reduce float32 4, rank 1 calls all_reduce max float32 4" in (
        found.words
    )


def test_what_a_full_ledger_left_out_is_not_missed() -> None:
    """Rank 0 also sent so much that its sums of the end had no room."""
    sends = calls(*["send float32 4 to 1"] * 3, each=4)
    assert parting([(*sends, Called(0, "8 more")), calls(SUM, SUM)]) is None
    assert parting([(*sends, Called(0, GATHER), Called(0, "8 more")), calls(SUM, SUM)])
    assert parting([(Called(0, SUM), Called(0, "8 more")), (Called(0, SUM), Called(0, "9 more"))])


GARBAGE = [
    (),
    (Called(0, ""),),
    (Called(2**32 - 1, "9" * 120 + "x9"), Called(0, "")),
    tuple(Called(number, "?" * 124) for number in range(511)),
    (Called(3, "of 2: "), Called(1, "kernel "), Called(0, f"{2**64} more")),
    (Called(0, "send"), Called(0, " more"), Called(0, "x".join("9" * 12))),
    calls(SUM, SUM, SUM),
]


@pytest.mark.parametrize("one", GARBAGE)
@pytest.mark.parametrize("other", GARBAGE)
@pytest.mark.parametrize("silent", [[0], [1], [0, 1]])
def test_whatever_a_ledger_holds_there_is_something_to_say(
    one: tuple[Called, ...], other: tuple[Called, ...], silent: list[int]
) -> None:
    heard = {rank: ANSWERED for rank in range(2) if rank not in silent}
    for in_graph in (False, True):
        found = missing(silent, heard, [one, other], 1.0, in_graph=in_graph)
        assert found.rank in (-1, 0, 1)
        assert found.words.isprintable()
        assert len(found.words) < 1000
    assert (parting([one, other]) is None) == (parting([other, one]) is None)
