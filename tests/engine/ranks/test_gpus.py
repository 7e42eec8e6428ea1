"""What only two GPUs can show of ranks: the budget, and that no memory of theirs is kept."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import brief, failures, left_behind, passed, qualify, rows, verify

pytestmark = pytest.mark.ranks

BUDGET = 13.0
"""Seconds for the whole verification of a two-rank all-reduce over the catalogue."""
SETTLES = 64
"""MiB by which a GPU's count may differ before and after."""
RANKS = ("--world-size", "2", "--tp-size", "2")


def in_use() -> list[int]:
    """MiB in use on each GPU."""
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in said.stdout.split()]


def test_an_all_reduce_over_the_catalogue_keeps_its_budget(records_directory: Path) -> None:
    started = time.monotonic()
    document = verify(
        EXAMPLES / "good" / "torch_all_reduce", device="cuda", arguments=(*RANKS, "--require-graph")
    )
    seconds = time.monotonic() - started
    body = {"seconds": round(seconds, 2), "budget": BUDGET, "document": document}
    (records_directory / "rank-budget.json").write_text(json.dumps(body, indent=1) + "\n")
    assert passed(document["bundles"][0], "cuda"), brief(document["bundles"][0])
    assert seconds < BUDGET


@pytest.mark.parametrize(
    "name", ["rank_hangs", "rank_leaves", "waits_for_nobody", "one_rank_skips"]
)
def test_no_process_and_no_memory_is_left(name: str) -> None:
    before = in_use()
    document = verify(
        EXAMPLES / "broken" / name,
        device="cuda",
        arguments=(*RANKS, "--timeout", "4", "--compile-timeout", "8"),
        mark=f"gpus-{name}",
    )
    assert failures(document["bundles"][0])
    assert not left_behind(f"gpus-{name}")
    for was, now in zip(before, in_use(), strict=True):
        assert now - was <= SETTLES


def test_ranks_answer_for_nodes_and_each_order() -> None:
    document = verify(EXAMPLES / "good" / "wide_all_reduce", device="cuda", arguments=RANKS)
    for row in rows(document["bundles"][0]):
        assert [each["rank"] for each in row["ranks"]] == [0, 1]
        assert all(len(each["orders"]) == 2 for each in row["ranks"])
        assert row["nodes"].get("kernel", 1) > 0


def test_the_epilogue_is_qualified(records_directory: Path) -> None:
    document = qualify(
        EXAMPLES / "good" / "moe_epilogue",
        EXAMPLES / "good" / "torch_all_reduce",
        arena="h200-tp2",
        store=records_directory / "rank-evidence",
        arguments=(),
        mark="qualify-ranks",
    )
    (records_directory / "rank-qualification.json").write_text(
        json.dumps(document, indent=1) + "\n"
    )
    for bundle in document["bundles"]:
        assert bundle["grade"] is not None, bundle["error"]
        assert bundle["grade"]["decision"] == "PASS", bundle["grade"]
    assert not left_behind("qualify-ranks")
