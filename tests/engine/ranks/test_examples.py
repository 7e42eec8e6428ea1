"""The shipped examples of collectives, on two ranks and on three."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import brief, failures, left_behind, passed, rows, verify
from tests.engine.course.test_examples import EXPECTED, disagreements, of_group

QUICK = ("--timeout", "4", "--compile-timeout", "6")
"""Deadlines for bundles that hang."""
GOOD, BROKEN = of_group("good", ranks=True), of_group("broken", ranks=True)
THREE = {
    "good": ["torch_all_reduce", "wide_all_reduce", "torch_ar_residual_rmsnorm"],
    "broken": ["last_rank_differs", "one_rank_skips", "rank_hangs", "contribution_left_out"],
}
"""What three ranks show that two do not: an odd one out, and a sum of more than a pair."""
NEEDS_CUDA = [name for name in GOOD if EXPECTED[name]["cpu"]["verdict"] == "needs-cuda"]
SAYS = {
    "one_rank_skips": "rank 0 calls all_reduce float32 *x*, rank 1 calls nothing",
    "ranks_out_of_order": "rank 0 calls all_reduce float32 1, rank 1 calls all_reduce",
    "rank_leaves": "the process of rank 1 left with status 3",
    "rank_raises": "only rank 1: ValueError: rank 1 takes no rows",
    "rank_hangs": "rank 1 has not answered and called no collective",
    "waits_for_nobody": "rank 0 has not answered since collective 1 of the step, recv",
    "retained_contribution": "it is the right answer for earlier inputs",
    "mean_over_ranks": "it is the mean over the ranks",
    "own_part_twice": "it is the sum with rank 0's contribution twice",
    "first_rank_only": "rank 1: out: *; it is rank 1's own contribution alone",
}
"""What the row must say, whatever stands around it; `*` is anything."""
WHOSE = {"rank_leaves": 1, "rank_raises": 1, "rank_hangs": 1, "waits_for_nobody": 0}
"""The rank that the row names."""


@cache
def seen(group: str, world: int) -> dict[str, dict[str, Any]]:
    names = {"good": GOOD, "broken": BROKEN}[group] if world == 2 else THREE[group]
    document = verify(
        *(EXAMPLES / group / name for name in names),
        device="cpu",
        arguments=("--world-size", str(world), *(QUICK if group == "broken" else ())),
        mark=f"{group}-{world}",
    )
    assert not left_behind(f"{group}-{world}")
    return dict(zip(names, document["bundles"], strict=True))


def says(message: str, pattern: str) -> bool:
    """Whether the parts of a pattern stand in a message, in their order."""
    at = 0
    for part in pattern.split("*"):
        found = message.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def test_there_are_enough() -> None:
    assert len(GOOD) >= 5
    assert len(BROKEN) >= 10


@pytest.mark.parametrize(
    ("name", "world"), [*((n, 2) for n in GOOD), *((n, 3) for n in THREE["good"])]
)
def test_a_good_example_passes_on_a_cpu(name: str, world: int) -> None:
    bundle = seen("good", world)[name]
    if name in NEEDS_CUDA:
        assert {v["rehearsal"] for v in bundle["variants"]} == {"needs-cuda"}, brief(bundle)
        assert not failures(bundle)
        return
    assert passed(bundle, "cpu"), brief(bundle)
    for row in rows(bundle):
        assert row["descriptor"]["world_size"] == row["descriptor"]["tp_size"] == world
        assert [each["rank"] for each in row["ranks"]] == list(range(world))
        assert all(each["orders"] == row["orders"] for each in row["ranks"])
        if any(order["replays_passed"] for order in row["orders"]):
            assert any("ranks agree bit for bit in" in note for note in row["notes"])


@pytest.mark.parametrize(
    ("name", "world"), [*((n, 2) for n in BROKEN), *((n, 3) for n in THREE["broken"])]
)
def test_a_broken_example_fails_on_a_cpu_as_the_table_says(name: str, world: int) -> None:
    bundle = seen("broken", world)[name]
    wrong = disagreements(name, bundle, "cpu")
    assert not wrong, wrong[0]
    for row in failures(bundle):
        message = row["findings"][0]["message"]
        assert says(message, SAYS.get(name, "")), message
        if name in WHOSE:
            assert row["rank"] == WHOSE[name], brief(bundle)


def test_what_is_wrong_on_one_rank_only_is_wrong_there() -> None:
    bundle = seen("broken", 3)["last_rank_differs"]
    for row in failures(bundle):
        assert row["rank"] == 2
        assert row["findings"][0]["message"].startswith("only rank 2: ")


def test_the_odd_one_out_of_three_is_named() -> None:
    for row in failures(seen("broken", 3)["one_rank_skips"]):
        assert row["rank"] == 1


def test_a_rank_that_hangs_is_seen_at_its_line() -> None:
    for world in (2, 3):
        for row in failures(seen("broken", world)["rank_hangs"]):
            assert row["findings"][0]["place"]["line"] == 8


@pytest.mark.ranks
def test_good_examples_pass_on_two_gpus(records_directory: Path) -> None:
    document = verify(
        *(EXAMPLES / "good" / name for name in GOOD),
        device="cuda",
        arguments=("--world-size", "2", "--tp-size", "2", "--require-graph"),
        mark="good-ranks",
    )
    (records_directory / "rank-good.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = [brief(bundle) for bundle in document["bundles"] if not passed(bundle, "cuda")]
    assert not wrong, "\n".join(wrong)
    assert not left_behind("good-ranks")


@pytest.mark.ranks
def test_broken_examples_fail_on_two_gpus_as_the_table_says(records_directory: Path) -> None:
    document = verify(
        *(EXAMPLES / "broken" / name for name in BROKEN),
        device="cuda",
        arguments=("--world-size", "2", "--tp-size", "2", *QUICK),
        mark="broken-ranks",
    )
    (records_directory / "rank-broken.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = []
    for name, bundle in zip(BROKEN, document["bundles"], strict=True):
        wrong += disagreements(name, bundle, "cuda")
    assert not wrong, "\n".join(wrong)
    assert not left_behind("broken-ranks")
