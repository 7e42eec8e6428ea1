"""The public cases: each gets the verdict and the phase that it must."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.course.runs import as_public, brief, failures, passed, verify

OP_AND_BLOCK = (
    "good_torch",
    "good_side_stream_joined",
    "item_sync",
    "cpu_roundtrip",
    "live_branch",
    "first_value_cache",
    "partial_tail",
    "capture_only_partial",
    "unjoined_side_stream",
    "growing_workspace",
    "mutates_input",
    "returns_instead_of_writes",
    "rms_good",
    "rms_cold_triton",
    "decode_good",
    "decode_host_len",
)

ON_A_CPU = {
    "good_torch": "pass",
    "good_side_stream_joined": "pass",
    "item_sync": "capture CG101 kernels/k.py:9",
    "live_branch": "capture CG103 kernels/k.py:9",
    "first_value_cache": "eager CG301",
    "partial_tail": "eager CG203",
    "growing_workspace": "replay CG302",
    "mutates_input": "eager CG202",
    "returns_instead_of_writes": "eager CG206",
    "rms_good": "pass",
    "rms_cold_triton": "pass",
    "decode_good": "pass",
    "decode_host_len": "capture CG101 kernels/k.py:5",
    "cpu_roundtrip": "capture CG102 kernels/k.py:9",
}
"""What a CPU can tell, case by case."""

ONLY_A_GPU_CAN_TELL = {
    "capture_only_partial": "it asks `x.is_cuda`, which is false on a CPU",
    "unjoined_side_stream": "it takes its side stream only where `x.is_cuda`",
}


@pytest.fixture(scope="module")
def on_a_cpu(cases: Path) -> dict[str, dict[str, Any]]:
    if not cases.is_dir():
        pytest.skip("the public cases are not here; CACHEON_CASES names them")
    document = verify(*(cases / name for name in ON_A_CPU), device="cpu")
    return dict(zip(ON_A_CPU, document["bundles"], strict=True))


@pytest.mark.parametrize("name", sorted(ON_A_CPU))
def test_a_case_on_a_cpu(name: str, on_a_cpu: dict[str, dict[str, Any]]) -> None:
    bundle, wanted = on_a_cpu[name], ON_A_CPU[name]
    if wanted == "pass":
        assert passed(bundle, "cpu"), brief(bundle)
        return
    phase, rule, *place = wanted.split()
    wrong = failures(bundle)
    assert wrong, brief(bundle)
    for row in wrong:
        finding = row["findings"][0]
        assert (row["failure"], finding["rule"]) == (phase, rule), brief(bundle)
        if place:
            assert f"{finding['place']['file']}:{finding['place']['line']}" == place[0]


def test_every_case_is_named() -> None:
    assert set(OP_AND_BLOCK) == set(ON_A_CPU) | set(ONLY_A_GPU_CAN_TELL)


@pytest.mark.gpu
def test_every_case_on_a_gpu(cases: Path, records_directory: Path) -> None:
    expected = json.loads((cases / "expect.json").read_text())
    document = verify(*(cases / name for name in OP_AND_BLOCK), device="cuda")
    (records_directory / "cases.json").write_text(json.dumps(document, indent=1) + "\n")
    wrong = []
    for name, bundle in zip(OP_AND_BLOCK, document["bundles"], strict=True):
        if not as_public(bundle, expected[name]):
            wrong.append(brief(bundle))
    assert not wrong, "\n".join(wrong)
