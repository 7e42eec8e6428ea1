"""Bundles meant to be passed, to hang, or to have another rank or nobody blamed."""

import json
from typing import Any

import pytest
from tests.engine.course.runs import ROOT, brief, left_behind, rows, verify

pytestmark = pytest.mark.slow

ATTACKS = ROOT / "tests" / "bundles" / "rank_attacks"
EXPECTED: dict[str, dict[str, Any]] = json.loads((ATTACKS / "expect.json").read_text())
QUICK = (
    *("--world-size", "2", "--tp-size", "2", "--case", "hidden_dim=448"),
    *("--timeout", "2", "--compile-timeout", "3", "--replays", "2", "--soak", "4"),
)
MOST = 60
"""Seconds that a bundle may take: two attempts and the control's, their deadlines and starts
included. A grader that a signal held was once waited for more than twice as long, and one
that asked for a GPU on one rank was tried without end."""


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, Any]]:
    document = verify(
        *(ATTACKS / name for name in EXPECTED), device="cpu", arguments=QUICK, mark="rank-attacks"
    )
    assert not left_behind("rank-attacks")
    assert document["exit_code"] == 1
    return dict(zip(EXPECTED, document["bundles"], strict=True))


def test_the_table_names_every_attack() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in ATTACKS.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_it_ends_as_the_table_says(name: str, seen: dict[str, dict[str, Any]]) -> None:
    bundle, wanted = seen[name], EXPECTED[name]
    assert bundle["seconds"] < MOST
    for row in rows(bundle):
        finding = row["findings"][0] if row["findings"] else {"rule": "", "message": ""}
        found = (row["failure"], finding["rule"], row["rank"])
        assert found == (wanted["failure"], wanted["rule"], wanted["rank"]), brief(bundle)
        assert wanted["says"] in finding["message"], finding["message"]


def test_a_rank_that_asks_for_a_gpu_is_no_failure(seen: dict[str, dict[str, Any]]) -> None:
    (variant,) = seen["device_on_one_rank"]["variants"]
    assert (variant["word"], variant["rehearsal"]) == ("NUMERICAL_PASS", "needs-cuda")


def test_a_line_of_another_rank_is_said_to_be_one(seen: dict[str, dict[str, Any]]) -> None:
    """Both wait: a line is shown, and whose it is."""
    for row in rows(seen["both_stuck"]):
        finding = row["findings"][0]
        assert finding["place"]["line"] == 11
        assert finding["message"].endswith("the line is where rank 0 waits")


def test_a_barrier_that_capture_leaves_out_is_hinted_at(seen: dict[str, dict[str, Any]]) -> None:
    """The answers are right either way, and nothing failed."""
    bundle = seen["barrier_only_eagerly"]
    for row in rows(bundle):
        assert row["status"] == "ok"
        assert row["hints"] == [
            "kernels/all_reduce.py:10 `dist.barrier(group)`: an eager call waits on the host in "
            "a barrier here, which the capture leaves out"
        ]
    assert not any(row["hints"] for row in rows(seen["partners_swapped"]))
