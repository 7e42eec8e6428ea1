"""Five faults, each over every op and block slot: the eager check sees all of them in every
case, by design and not by luck. Grader and harness share one process, so that a course takes
a second: one process a slot, because a rehearsal's patches of torch stay in it."""

import json
import os
import shutil
import subprocess
import sys
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

ROOT = Path(__file__).parents[3]
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


def found(slot: str, directory: Path) -> dict[str, list[list[str]]]:
    """For each fault, of every applicable row: status, class and rule."""
    rows: dict[str, list[list[str]]] = {}
    for number, fault in enumerate(FAULTS):
        request = wrong_candidate(slot, fault, directory / str(number))
        examiner = Examiner(
            InlineKeeper(on_cpu=True),
            request,
            RunSettings(device="cpu", seed=11, isolation="inline"),
            torch.device("cpu"),
            str(directory / "caches"),
            lambda _: None,
        )
        with torch.no_grad():
            outcome = examiner.examine()
        rows[fault] = [
            [row.status, row.failure, row.findings[0].rule if row.findings else ""]
            for row in outcome.rows
            if row.applicable
        ]
    return rows


@pytest.mark.parametrize("slot", SLOTS)
def test_each_fails_in_the_eager_check_of_every_case(slot: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, __file__, slot, str(tmp_path)],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
    )
    assert done.returncode == 0, done.stderr
    for fault, rows in json.loads(done.stdout).items():
        assert rows, fault
        for status, failure, rule in rows:
            assert (status, failure) == ("fail", "eager"), (fault, rows)
            assert rule in FAULTS[fault][1], (fault, rows)


if __name__ == "__main__":
    print(json.dumps(found(sys.argv[1], Path(sys.argv[2]))))
