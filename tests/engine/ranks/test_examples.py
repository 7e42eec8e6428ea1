"""The shipped examples of collectives, on two ranks and on three."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import brief, failures, left_behind, passed, rows, verify
from tests.engine.course.test_examples import EXPECTED, disagreements, of_group, qualified

QUICK = ("--timeout", "4", "--compile-timeout", "6")
"""Deadlines for bundles that hang."""
GOOD, BROKEN = of_group("good", ranks=True), of_group("broken", ranks=True)
THREE = {
    "good": ["torch_all_reduce", "wide_all_reduce", "torch_ar_residual_rmsnorm"],
    "broken": ["last_rank_differs", "one_rank_skips", "rank_hangs", "contribution_left_out"],
}
"""What three ranks show that two do not: an odd one out, and a sum of more than a pair."""
SETTLES = 64
"""MiB by which a GPU's count may differ before and after."""
NEEDS_CUDA = [name for name in GOOD if EXPECTED[name]["cpu"]["verdict"] == "needs-cuda"]
SAYS = {
    "one_rank_skips": "rank 0 calls all_reduce float32 *x*, rank 1 calls nothing",
    "ranks_out_of_order": "rank 0 calls all_reduce max float32 1, rank 1 calls all_reduce float32",
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


def in_use() -> list[int]:
    """MiB in use on each GPU."""
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in said.stdout.split()]


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
def test_every_example_is_qualified_on_two_gpus_as_the_table_says(records_directory: Path) -> None:
    """One run decides on all of them; its store is the evidence that is kept. After all those
    faults no process is left, and no memory of a GPU."""
    before = in_use()
    document, wrong = qualified(
        *(EXAMPLES / "good" / name for name in GOOD),
        *(EXAMPLES / "broken" / name for name in BROKEN),
        arena="h200-tp2",
        store=records_directory / "rank-evidence",
        arguments=QUICK,
        mark="qualify-ranks",
    )
    body = json.dumps(document, indent=1) + "\n"
    (records_directory / "rank-qualification.json").write_text(body)
    assert not wrong, "\n".join(wrong)
    assert not left_behind("qualify-ranks")
    for was, now in zip(before, in_use(), strict=True):
        assert now - was <= SETTLES
