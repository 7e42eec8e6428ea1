"""The public cases of collectives: each gets the verdict and the phase that it must."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.course.runs import as_public, brief, failures, left_behind, passed, rows, verify

QUICK = ("--world-size", "2", "--tp-size", "2", "--timeout", "4", "--compile-timeout", "20")

ON_A_CPU = {
    "ar_good": "pass",
    "ar_bf16_accum_ok": "pass",
    "ar_barrier_in_entry": "capture CG105 5",
    "ar_one_rank_wrong": "eager CG802",
}
"""What two ranks on a CPU can tell, case by case, in bfloat16: in float32 `x.float()` is x
itself, and ar_bf16_accum_ok changes its input there."""

ONLY_A_GPU_CAN_TELL = {"ar_rank_skips": "it leaves its collective out only where `x.is_cuda`"}


@pytest.fixture(scope="module")
def on_a_cpu(cases: Path) -> dict[str, dict[str, Any]]:
    if not cases.is_dir():
        pytest.skip("the public cases are not here; CACHEON_CASES names them")
    document = verify(
        *(cases / name for name in ON_A_CPU),
        device="cpu",
        arguments=(*QUICK, "--dtype", "bfloat16"),
        mark="rank-cases",
    )
    assert not left_behind("rank-cases")
    return dict(zip(ON_A_CPU, document["bundles"], strict=True))


@pytest.mark.parametrize("name", sorted(ON_A_CPU))
def test_a_case_on_two_ranks_of_a_cpu(name: str, on_a_cpu: dict[str, dict[str, Any]]) -> None:
    bundle, wanted = on_a_cpu[name], ON_A_CPU[name]
    if wanted == "pass":
        assert passed(bundle, "cpu"), brief(bundle)
        return
    phase, rule, *line = wanted.split()
    wrong = failures(bundle)
    assert len(wrong) == len(rows(bundle)), brief(bundle)
    for row in wrong:
        finding = row["findings"][0]
        assert (row["failure"], finding["rule"]) == (phase, rule), brief(bundle)
        if line:
            assert finding["place"]["line"] == int(line[0])


def test_the_wrong_rank_is_named(on_a_cpu: dict[str, dict[str, Any]]) -> None:
    for row in rows(on_a_cpu["ar_one_rank_wrong"]):
        assert row["rank"] == 1
        assert row["findings"][0]["message"].startswith("only rank 1: ")
        assert [each["rank"] for each in row["ranks"]] == [0, 1]


def test_every_case_is_named(cases: Path) -> None:
    if cases.is_dir():
        there = {path.name for path in cases.glob("ar_*")}
        assert there == set(ON_A_CPU) | set(ONLY_A_GPU_CAN_TELL)


@pytest.mark.ranks
def test_every_case_on_two_gpus(cases: Path, records_directory: Path) -> None:
    names = sorted(ON_A_CPU.keys() | ONLY_A_GPU_CAN_TELL.keys())
    expected = json.loads((cases / "expect.json").read_text())
    document = verify(
        *(cases / name for name in names), device="cuda", arguments=QUICK, mark="rank-cases"
    )
    (records_directory / "rank-cases.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = []
    for name, bundle in zip(names, document["bundles"], strict=True):
        if not as_public(bundle, expected[name]):
            wrong.append(brief(bundle))
    assert not wrong, "\n".join(wrong)
    assert not left_behind("rank-cases")
