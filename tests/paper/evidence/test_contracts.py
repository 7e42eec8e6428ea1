"""The digest over a slot's whole contract."""

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import cacheon
from cacheon.contract.slots import SLOTS
from cacheon.evidence import contracts
from cacheon.evidence.contracts import contract_digest, deciding_sources, exact

GRADER = Path(cacheon.__file__).parent / "engine" / "grader"
RMS = SLOTS["norm.rmsnorm"]


def test_each_slot_has_a_contract_of_its_own() -> None:
    digests = {contract_digest(slot) for slot in SLOTS.values()}
    assert len(digests) == len(SLOTS)
    assert contract_digest(RMS) == contract_digest(RMS)


def test_whatever_a_slot_says_is_part_of_it() -> None:
    for change in (
        {"entry": ("x", "out", "weight", "eps")},
        {"counts": ()},
        {"correctness": msgspec.structs.replace(RMS.correctness, ratio=0.999)},
        {"catalogue": RMS.catalogue[1:]},
    ):
        other = msgspec.structs.replace(RMS, **change)
        assert contract_digest(other) != contract_digest(RMS)


@pytest.mark.parametrize("table", ["TOLERANCE", "ROW_ERROR"])
def test_tolerances_are_part_of_it(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contract_digest(RMS)
    closest = {**getattr(contracts, table), "bfloat16": 2.0000000000000004e-2}
    monkeypatch.setattr(contracts, table, closest)
    assert contract_digest(RMS) != before


@pytest.mark.parametrize(
    "name", ["draws/rmsnorm.py", "references/rmsnorm.py", "compare/__init__.py"]
)
def test_the_sources_that_decide_are_part_of_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contract_digest(RMS)
    copy = tmp_path / "grader"
    shutil.copytree(GRADER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(contracts, "_GRADER", copy)
    assert contract_digest(RMS) == before
    with (copy / name).open("a") as file:
        file.write("\n")
    assert contract_digest(RMS) != before


def test_caches_beside_the_sources_do_not_count(tmp_path: Path) -> None:
    room = tmp_path / "draws"
    (room / "__pycache__").mkdir(parents=True)
    (room / "one.py").write_text("1")
    (room / "__pycache__" / "one.cpython-311.pyc").write_bytes(b"2")
    (tmp_path / "course.py").write_text("3")
    assert list(deciding_sources(tmp_path)) == ["draws/one.py"]


def test_floats_are_spelled_exactly() -> None:
    assert exact({"a": [1, 0.5, (True, None, "x")]}) == {
        "a": [1, "0x1.0000000000000p-1", [True, None, "x"]]
    }


def test_nothing_of_the_engine_is_imported_for_it() -> None:
    script = (
        "import sys\n"
        "from cacheon.contract.slots import SLOTS\n"
        "from cacheon.evidence.contracts import contract_digest\n"
        "print(contract_digest(SLOTS['norm.rmsnorm']))\n"
        "print([n for n in sys.modules if n.startswith('cacheon.engine') or n == 'torch'])\n"
    )
    source = str(Path(cacheon.__file__).parents[1])
    said = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {source!r})\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    assert said[:2] == [contract_digest(RMS), "[]"]
