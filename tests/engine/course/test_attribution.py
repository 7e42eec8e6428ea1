"""From what was seen to the rule's id: every path that needs no run to be walked."""

import re

import pytest
import torch
from tests.engine.course.runs import ROOT

from cacheon.engine.grader.attribution import (
    from_graph,
    from_loss,
    from_parting,
    from_refusal,
    pattern,
)
from cacheon.engine.grader.session import Lost, Refused
from cacheon.engine.outcome import Stage
from cacheon.engine.protocol import Done, Ended, Raised, Where
from cacheon.rules.catalogue import RULES

LINE = Where(file="kernels/k.py", line=9, function="f", source="out.copy_(x)")


@pytest.mark.parametrize(
    ("thing", "rule"),
    [
        ("host", "CG404"),
        ("allocation", "CG503"),
        ("free", "CG503"),
        ("conditional", "CG506"),
        ("host copy", "CG305"),
        ("something new", "CG505"),
    ],
)
def test_what_stands_in_a_graph(thing: str, rule: str) -> None:
    found = from_graph(Done(nodes=(1, 1, 1), suspicious=(thing,)), "descending", "f")
    assert found is not None
    assert (found.rule, found.stage, found.place) == (rule, "capture", None)


@pytest.mark.parametrize(
    ("done", "rule", "words"),
    [
        (Done(nodes=(2, 2, 2), compiled=("triton",)), "CG502", "triton compiled during capture"),
        (Done(nodes=(2, 0, 2)), "CG402", "f added no node to the graph (call 1 of 3)"),
    ],
)
def test_what_a_capture_did(done: Done, rule: str, words: str) -> None:
    found = from_graph(done, "descending", "f")
    assert found is not None
    assert (found.rule, words in found.message) == (rule, True)


def test_a_sound_graph_is_none() -> None:
    kinds = {"kernel": 3, "memset": 1}
    assert from_graph(Done(nodes=(2, -1, 1), kinds=kinds), "descending", "f") is None


@pytest.mark.parametrize(
    ("stage", "kind", "message", "where", "rule"),
    [
        ("load", "ImportError", "no module", LINE, "CG806"),
        ("prepare", "ValueError", "m", LINE, "CG801"),
        ("warmup", "CompilationError", "m", LINE, "CG501"),
        ("eager", "ValueError", "m", LINE, "CG801"),
        ("capture", "ValueError", "m", LINE, "CG801"),
        ("capture", "ValueError", "m", None, "CG505"),
        ("capture", "RuntimeError", "capturing stream has unjoined work", None, "CG401"),
        ("capture", "CompilationError", "nvcc failed", LINE, "CG502"),
        ("capture", "AcceleratorError", "CUDA error: …", None, "CG505"),
        ("capture", "DistError", "process group is gone", LINE, "CG601"),
    ],
)
def test_an_exception(
    stage: Stage, kind: str, message: str, where: Where | None, rule: str
) -> None:
    reply = Raised(kind=kind, message=message, where=where)
    found = from_refusal(Refused(reply, stage, 0), "descending")
    assert (found.rule, found.stage, found.place is None) == (rule, stage, where is None)


def test_a_rule_that_the_worker_names_is_believed_if_there_is_one() -> None:
    for said, rule in (("CG105", "CG105"), ("CG999", "CG801"), ("CG807", "CG801"), ("", "CG801")):
        reply = Raised(kind="", message="m", where=LINE, rule=said)
        assert from_refusal(Refused(reply, "eager", 0), "descending").rule == rule


@pytest.mark.parametrize(
    ("lost", "ended", "rule"),
    [
        (Lost("hung", "capture", 0, "after 4 s"), Ended(killed=True), "CG104"),
        (Lost("hung", "replay", 0, "after 4 s", apart=True), Ended(killed=True), "CG602"),
        (Lost("parted", "replay", 0, "rank 1 calls none"), Ended(), "CG602"),
        (Lost("died", "eager", 0), Ended(killed=True), "CG903"),
        (Lost("garbled", "eager", 0, "no frame"), Ended(), "CG903"),
        (Lost("sticky", "replay", 0, "illegal address"), Ended(), "CG302"),
        (Lost("sticky", "eager", 0, "illegal address"), Ended(), "CG901"),
        (Lost("died", "eager", 0), Ended(signal=11), "CG901"),
        (Lost("died", "eager", 0), Ended(status=0), "CG902"),
    ],
)
def test_a_worker_that_is_gone(lost: Lost, ended: Ended, rule: str) -> None:
    assert from_loss(lost, ended, "ascending").rule == rule


def test_ranks_that_part() -> None:
    found = from_parting("rank 1 calls no all-reduce", "capture", "descending")
    assert (found.rule, found.stage) == ("CG602", "capture")


def test_the_attribution_names_rules_that_there_are() -> None:
    for path in (ROOT / "src" / "cacheon" / "engine").rglob("*.py"):
        assert set(re.findall(r"CG\d{3}", path.read_text())) <= RULES.keys(), path


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ((slice(None), slice(1, None, 2)), "every second column"),
        ((slice(None), slice(0, None, 2)), "every second column"),
        ((slice(None), slice(6, None)), "the last 2 of 8 columns"),
        ((slice(None), [1, 5]), "2 of 8 columns"),
        ((slice(2, None), slice(None)), "the last 2 of 4 rows"),
        ((slice(1, 2), slice(None)), "row 1"),
        (([0, 2], slice(None)), "2 of 4 rows"),
        ((slice(None), slice(None)), "every row"),
        (([0, 1, 3], [2, 5, 7]), "scattered cells"),
    ],
)
def test_which_cells_were_not_written(cells: object, words: str) -> None:
    mask = torch.zeros(4, 8, dtype=torch.bool)
    mask[cells] = True
    assert pattern(mask) == words
    assert pattern(mask.view(2, 2, 8)) == words
