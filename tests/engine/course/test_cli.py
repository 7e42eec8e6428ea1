"""What a command promises whatever the bundle is."""

from pathlib import Path

import pytest
from tests.conftest import EXAMPLES
from tests.engine.course.runs import rows, verify

GOOD = EXAMPLES / "good" / "torch_silu_and_mul"


def test_a_seed_repeats_a_run() -> None:
    one, other = (
        verify(GOOD, device="cpu", arguments=("--seed", "7", "--soak", "8")) for _ in range(2)
    )
    assert rows(one["bundles"][0]) == rows(other["bundles"][0])
    assert one["seed"] == 7


def test_fresh_seeds_differ() -> None:
    one, other = (verify(GOOD, device="cpu", arguments=("--soak", "0")) for _ in range(2))
    assert one["seed"] != other["seed"]


def test_inline_isolation_stands_in_the_record() -> None:
    document = verify(GOOD, device="cpu", arguments=("--isolation", "inline", "--soak", "8"))
    assert [v["isolation"] for v in document["bundles"][0]["variants"]] == ["inline"]
    assert document["exit_code"] == 0


def test_replays_are_counted_in_both_orders() -> None:
    document = verify(GOOD, device="cpu", arguments=("--replays", "4", "--soak", "8"))
    for row in rows(document["bundles"][0]):
        counted = {(o["order"], o["replays_passed"], o["soak_passed"]) for o in row["orders"]}
        assert counted == {("descending", 4, 8), ("ascending", 4, 8)}


def test_one_unusable_bundle_does_not_stop_the_others(tmp_path: Path) -> None:
    document = verify(tmp_path / "absent", GOOD, device="cpu", arguments=("--soak", "0"))
    assert document["exit_code"] == 2
    assert document["bundles"][0]["error"]
    assert document["bundles"][1]["exit_code"] == 0


@pytest.mark.gpu
def test_inline_isolation_on_a_gpu() -> None:
    document = verify(GOOD, device="cuda", arguments=("--isolation", "inline"))
    assert document["exit_code"] == 0
    assert [v["graph"] for v in document["bundles"][0]["variants"]] == ["verified"]
