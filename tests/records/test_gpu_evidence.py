"""The evidence that a run on a GPU left, graded again here: the same decisions and reasons."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cacheon.evidence.store import DirectoryStore
from cacheon.workflows.audit import audit
from cacheon.workflows.fsck import check_store

RECORDS = Path(__file__).parents[2] / "records" / "gpu"
EXAMPLES = Path(__file__).parents[2] / "src" / "cacheon" / "examples"
STORES = {path: path.stem.replace("qualification", "evidence") for path in RECORDS.glob("*qualif*")}
"""What each run of `cacheon qualify` said, and the store that it left."""
SAID: list[tuple[str, dict[str, Any]]] = [
    (store, bundle)
    for path, store in sorted(STORES.items())
    for bundle in json.loads(path.read_text())["bundles"]
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies: what is kept must not change by being read."""
    copies = tmp_path_factory.mktemp("evidence")
    for store in STORES.values():
        shutil.copytree(RECORDS / store, copies / store)
    return copies


@pytest.mark.parametrize(
    ("store", "bundle"), SAID, ids=[Path(each["path"]).name for _, each in SAID]
)
def test_it_is_graded_to_the_same_decision_and_reasons(
    store: str, bundle: dict[str, Any], stores: Path
) -> None:
    audited = audit(bundle["graded"], stores / store)
    assert audited.outcome == "same"
    assert audited.published.requirement == bundle["requirement"]
    assert audited.made.decision == bundle["grade"]["decision"]
    assert [reason.code for reason in audited.made.reasons] == [
        reason["code"] for reason in bundle["grade"]["reasons"]
    ]
    good = "/good/" in bundle["path"]
    assert audited.made.decision == ("PASS" if good else "FAIL")
    assert not audited.lost


@pytest.mark.parametrize("store", sorted(STORES.values()))
def test_every_byte_of_it_is_sound(store: str, stores: Path) -> None:
    assert check_store(stores / store).sound
    with DirectoryStore.open(stores / store) as kept:
        graded = [bundle for name, bundle in SAID if name == store]
        assert len(list(kept.names("grade"))) == len(graded)


def test_every_shipped_example_was_qualified() -> None:
    expected = json.loads((EXAMPLES / "expect.json").read_text())
    assert {Path(bundle["path"]).name for _, bundle in SAID} == set(expected)


def test_nothing_was_left_out() -> None:
    """The run on one GPU passed, and skipped nothing; so did the rounds after it."""
    run = json.loads((RECORDS / "tests.json").read_text())
    assert run["exit"] == 0
    assert len(run["gpus"]) == 1
    assert {test["outcome"] for test in run["tests"]} == {"passed"}
    rounds = json.loads((RECORDS / "good-rounds.json").read_text())["rounds"]
    seen = [
        (word, graph)
        for one in rounds
        for b in one["bundles"]
        for word, graph in zip(b["words"], b["graph"], strict=True)
    ]
    assert set(seen) == {("PASS", "verified")}
    assert len({one["seed"] for one in rounds}) == len(rounds)


def test_nothing_of_ranks_was_left_out() -> None:
    """The run on two GPUs passed, and skipped nothing."""
    run = json.loads((RECORDS / "rank-tests.json").read_text())
    assert run["exit"] == 0
    assert len(run["gpus"]) == 2
    assert {test["outcome"] for test in run["tests"]} == {"passed"}
    budget = json.loads((RECORDS / "rank-budget.json").read_text())
    assert budget["seconds"] < budget["budget"]
