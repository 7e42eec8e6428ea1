"""The evidence that a run on a GPU left, graded again here: the same decisions and reasons."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cacheon.contract.slots import SLOTS
from cacheon.evidence.store import DirectoryStore
from cacheon.workflows.audit import audit
from cacheon.workflows.fsck import check_store

RECORDS = Path(__file__).parents[2] / "records" / "gpu"
SAID: list[dict[str, Any]] = json.loads((RECORDS / "qualification.json").read_text())["bundles"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: what is kept must not change by being read."""
    copy = tmp_path_factory.mktemp("evidence") / "store"
    shutil.copytree(RECORDS / "evidence", copy)
    return copy


@pytest.mark.parametrize("bundle", SAID, ids=[Path(each["path"]).name for each in SAID])
def test_it_is_graded_to_the_same_decision_and_reasons(bundle: dict[str, Any], store: Path) -> None:
    audited = audit(bundle["graded"], store)
    assert audited.outcome == "same"
    assert audited.published.requirement == bundle["requirement"]
    assert audited.made.decision == bundle["grade"]["decision"]
    assert [reason.code for reason in audited.made.reasons] == [
        reason["code"] for reason in bundle["grade"]["reasons"]
    ]
    good = "/good/" in bundle["path"]
    assert audited.made.decision == ("PASS" if good else "FAIL")
    assert not audited.lost


def test_every_byte_of_it_is_sound(store: Path) -> None:
    assert check_store(store).sound
    with DirectoryStore.open(store) as kept:
        assert len(list(kept.names("grade"))) == len(SAID)


def test_every_shipped_example_for_one_gpu_was_qualified() -> None:
    """Those of collectives need two."""
    examples = Path(__file__).parents[2] / "src" / "cacheon" / "examples"
    expected = json.loads((examples / "expect.json").read_text())
    alone = {name for name, row in expected.items() if SLOTS[row["slot"]].kind != "collective"}
    assert {Path(bundle["path"]).name for bundle in SAID} == alone
