"""The shipped examples: none of the good ones is found fault with, and of the broken
ones every one whose fault is visible in its source, under the id that a run reports."""

import json
from pathlib import Path

import pytest

from cacheon.bundle import open_bundle
from cacheon.scan.bundles import scan_bundle

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "src" / "cacheon" / "examples"
PUBLIC = ROOT / "tests" / "bundles" / "public"

SEEN: dict[str, list[tuple[str, int]]] = {
    "accumulator_cleared_once": [("CG304", 14)],
    "barrier_in_the_entry": [("CG105", 7)],
    "borrows_other_inputs": [("CG202", 14)],
    "contribution_left_out": [("CG603", 8)],
    "cpu_round_trip": [("CG102", 7), ("CG102", 8)],
    "default_stream_launch": [("CG401", 7)],
    "destroys_the_group": [("CG601", 9)],
    "endless_print": [("CG104", 7)],
    "epoch_wraps": [("CG701", 12)],
    "fills_the_gaps": [("CG204", 16)],
    "first_value_cache": [("CG301", 12)],
    "group_in_the_entry": [("CG601", 7)],
    "growing_workspace": [("CG302", 12)],
    "hang": [("CG104", 9)],
    "host_constant": [("CG102", 7)],
    "ignored_eps": [("CG802", 4)],
    "import_error": [("CG806", 2)],
    "item_read": [("CG101", 8)],
    "keeps_every_answer": [("CG504", 10)],
    "lags_one_replay": [("CG304", 13), ("CG303", 20)],
    "leaves_a_child": [("CG904", 7), ("CG902", 10)],
    "leaves_the_process": [("CG902", 8)],
    "live_branch": [("CG103", 8)],
    "longest_length_frozen": [("CG304", 15)],
    "mutated_input": [("CG202", 8)],
    "no_op": [("CG201", 4)],
    "nonzero_gather": [("CG103", 23)],
    "one_rank_skips": [("CG602", 8)],
    "partial_write": [("CG203", 9)],
    "patched_comparison": [("CG905", 3), ("CG905", 4), ("CG905", 5)],
    "pinned_host_copy": [("CG305", 12)],
    "rank_hangs": [("CG104", 8)],
    "rank_leaves": [("CG902", 12)],
    "rank_raises": [("CG501", 9)],
    "reads_the_callers_frames": [("CG802", 6), ("CG905", 8), ("CG905", 10), ("CG905", 14)],
    "retained_contribution": [("CG301", 9)],
    "retained_first_output": [("CG205", 10)],
    "returns_the_result": [("CG206", 8)],
    "searches_for_the_answer": [("CG802", 6), ("CG905", 8)],
    "split_workspace": [("CG302", 14)],
    "synchronizes": [("CG105", 9)],
    "unjoined_side_stream": [("CG401", 13)],
    "waits_for_nobody": [("CG104", 9)],
    "weight_cached_once": [("CG301", 9)],
    "writes_past_the_end": [("CG204", 20)],
}
"""Example → rule and line of each finding."""

UNSEEN = {
    "decode_length_off_by_one": "one comparison is another than the contract's",
    "first_rank_only": "which rank is given the sum",
    "last_rank_differs": "the arithmetic of one rank",
    "mean_over_ranks": "what a sum is divided by",
    "nobody_waits": "whether anybody waits for work that is kept",
    "null_write": "where a pointer leads",
    "one_wrong_head": "the arithmetic of one head",
    "own_part_twice": "what is added to a sum",
    "ranks_out_of_order": "in which order, not what, the ranks call",
    "raises_in_prepare": "whether the shape fits",
    "residual_on_every_rank": "what is summed over ranks is replicated",
    "sdpa_mask_off_by_one": "one number is another than the contract's",
    "tail_not_written": "whether the tile divides the width",
}
"""Broken examples whose fault only a run shows, and what hides it."""

ALSO_TRUE = {("reads_the_callers_frames", "CG802")}
"""True of the source as well, and not what a run meets first; the run's own rule is found
beside it."""


def table() -> dict[str, dict[str, dict[str, str]]]:
    listed: dict[str, dict[str, dict[str, str]]] = json.loads(
        (EXAMPLES / "expect.json").read_text()
    )
    return listed


@pytest.mark.parametrize("name", [p.name for p in sorted((EXAMPLES / "good").iterdir())])
def test_a_good_example_has_no_finding(name: str) -> None:
    assert scan_bundle(open_bundle(EXAMPLES / "good" / name)) == ()


@pytest.mark.parametrize("name", [p.name for p in sorted(PUBLIC.iterdir()) if p.is_dir()])
def test_a_public_bundle_has_no_finding(name: str) -> None:
    assert scan_bundle(open_bundle(PUBLIC / name)) == ()


@pytest.mark.parametrize("name", [p.name for p in sorted((EXAMPLES / "broken").iterdir())])
def test_a_broken_example_is_found_where_its_source_shows_it(name: str) -> None:
    findings = scan_bundle(open_bundle(EXAMPLES / "broken" / name))
    assert [(f.rule, f.line) for f in findings] == SEEN.get(name, [])


def reported(name: str) -> set[str]:
    """The rules of which a run reports one, and those of CG9xx that the scan finds: a
    verification prints those itself, and fails on them before anything is loaded."""
    rules = set(table()[name]["cuda"]["rule"].split("|"))
    return rules | {rule for rule, _ in SEEN[name] if rule.startswith("CG9")}


@pytest.mark.parametrize("name", SEEN)
def test_the_ids_are_those_that_a_run_reports(name: str) -> None:
    others = {rule for rule, _ in SEEN[name]} - reported(name)
    assert {(name, rule) for rule in others} <= ALSO_TRUE


@pytest.mark.parametrize("name", SEEN)
def test_the_scan_and_a_run_agree_on_an_id(name: str) -> None:
    assert {rule for rule, _ in SEEN[name]} & reported(name)


@pytest.mark.parametrize("name", SEEN)
def test_the_lines_are_those_that_a_run_reports(name: str) -> None:
    line = table()[name]["cuda"]["line"]
    if line is not None:
        assert line in [found for _, found in SEEN[name]]


def test_every_broken_example_is_in_one_of_the_tables() -> None:
    assert SEEN.keys().isdisjoint(UNSEEN)
    listed = {name for name, row in table().items() if str(row["group"]) == "broken"}
    assert SEEN.keys() | UNSEEN.keys() == listed
