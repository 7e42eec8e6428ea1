"""What only two GPUs can show of ranks: the budget, and the nodes of every rank's graph."""

import json
import time
from pathlib import Path

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import brief, passed, rows, verify

pytestmark = pytest.mark.ranks

BUDGET = 13.0
"""Seconds for the whole verification of a two-rank all-reduce over the catalogue."""
RANKS = ("--world-size", "2", "--tp-size", "2")


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


def test_ranks_answer_for_nodes_and_each_order() -> None:
    document = verify(EXAMPLES / "good" / "wide_all_reduce", device="cuda", arguments=RANKS)
    for row in rows(document["bundles"][0]):
        assert [each["rank"] for each in row["ranks"]] == [0, 1]
        assert all(len(each["orders"]) == 2 for each in row["ranks"])
        assert row["nodes"].get("kernel", 1) > 0
