"""Five faults, each over every op and block slot: the eager check sees all of them in every
case, by design and not by luck. Grader and harness share one process here, so that fifty
courses take seconds."""

import shutil
from pathlib import Path

import msgspec
import pytest
import torch

from cacheon.bundle import open_bundle
from cacheon.contract.slots import slot as slot_of
from cacheon.engine.grader.variant import Examiner
from cacheon.engine.inline import InlineKeeper
from cacheon.engine.request import Candidate, DeviceFacts, RunSettings, VariantRequest
from cacheon.workflows.examples import good_example
from cacheon.workflows.options import Options
from cacheon.workflows.selection import request_for

SLOTS = (
    "activation.silu_and_mul",
    "norm.rmsnorm",
    "attention.sdpa",
    "attention.decode",
    "attention.msa_block_score",
    "attention.msa_prefill_block_score",
    "moe.fused_experts",
)
WRAPPER = """
import ctypes

def _wrap(right):
    kept = {{}}

    def wrong(*given):
        out = given[{at}]
        {body}

    return wrong


def _past(out):
    end = sum((n - 1) * s for n, s in zip(out.shape, out.stride())) + 1
    return out.data_ptr() + end * out.element_size()


{entry} = _wrap({entry})
"""
FAULTS = {
    # what it does: the body of the wrong entry, and the rules that may name it
    "writes nothing": ("return None", {"CG201"}),
    "leaves the last row": (
        "was = out[-1:].clone(); right(*given); out[-1:] = was",
        {"CG201", "CG203"},
    ),
    "writes the first output of the shape": (
        "first = kept.setdefault(out.shape, out); right(*given[:{at}], first, *given[{at} + 1 :])",
        {"CG205"},
    ),
    "changes an input": ("right(*given); given[0].mul_(2)", {"CG202"}),
    "writes past the end": ("right(*given); ctypes.memset(_past(out), 1, 8)", {"CG204"}),
}


def wrong_candidate(slot: str, fault: str, directory: Path) -> VariantRequest:
    """The slot's plain example with one fault put around its entry."""
    example = good_example(slot)
    assert example is not None
    root = directory / "bundle"
    shutil.copytree(example, root)
    row = open_bundle(example).variants[0]
    facts = DeviceFacts(device="cpu", name="cpu", architecture="", torch=torch.__version__)
    request = request_for(row, root, Options(device="cpu"), facts, 11)
    entry = slot_of(slot).entry
    at = entry.index("out")
    source = root / row.source
    source.chmod(0o644)
    body = FAULTS[fault][0].format(at=at)
    source.write_text(source.read_text() + WRAPPER.format(at=at, body=body, entry=row.entry))
    candidate = Candidate(root=str(root), source=row.source, entry=row.entry, prepare=row.prepare)
    return msgspec.structs.replace(request, candidate=candidate, graph=False)


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_it_fails_in_the_eager_check_of_every_case(slot: str, fault: str, tmp_path: Path) -> None:
    request = wrong_candidate(slot, fault, tmp_path)
    examiner = Examiner(
        InlineKeeper(on_cpu=True),
        request,
        RunSettings(device="cpu", seed=11, isolation="inline"),
        torch.device("cpu"),
        str(tmp_path / "caches"),
        lambda _: None,
    )
    with torch.no_grad():
        outcome = examiner.examine()
    applicable = [row for row in outcome.rows if row.applicable]
    assert applicable
    for row in applicable:
        assert (row.status, row.failure) == ("fail", "eager"), row
        assert row.findings[0].rule in FAULTS[fault][1], row.findings
