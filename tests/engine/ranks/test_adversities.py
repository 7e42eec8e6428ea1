"""Whole examinations of two ranks that meet something, or bring it about."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.engine.course.runs import brief, failures, left_behind, passed, rows, verify

pytestmark = pytest.mark.slow

MANIFEST = """\
bundle_id = "ranks-under-test"
abi_version = "cacheon-op-abi-v0"

[[ops]]
slot = "collective.all_reduce"
source = "kernels/k.py"
entry = "all_reduce"
dtypes = ["float32"]
metadata = "metadata/k.json"
"""
HEAD = """\
import os
import signal
import subprocess
import sys
import time

import torch
import torch.distributed as dist


def all_reduce(x, out, group):
    rank = dist.get_rank(group)
"""
SUM = "    out.copy_(x)\n    dist.all_reduce(out, group=group)\n"
QUICK = ("--world-size", "2", "--timeout", "3", "--compile-timeout", "5", "--soak", "16")
DEADLINES = 3 + 5
"""Seconds of the two deadlines."""


def examined(tmp_path: Path, body: str, *, head: str = HEAD, more: tuple[str, ...] = ()) -> Any:
    """The outcome of a bundle with this body, once nothing of the run is left."""
    root = tmp_path / "bundle"
    for name, text in (
        ("manifest.toml", MANIFEST),
        ("metadata/k.json", '{"graph_safe": true}\n'),
        ("kernels/k.py", head + body),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    mark = f"ranks-{tmp_path.name}"
    document = verify(root, device="cpu", arguments=(*QUICK, *more), mark=mark)
    assert not left_behind(mark)
    return document["bundles"][0]


def first(bundle: dict[str, Any]) -> tuple[str, str, str]:
    """Class, rule and message of the first failure."""
    row = failures(bundle)[0]
    finding = row["findings"][0]
    return row["failure"], finding["rule"], finding["message"]


# --- honest ---------------------------------------------------------------------------------


def test_a_ring_of_sends_and_receives_passes(tmp_path: Path) -> None:
    body = (
        "    other = 1 - rank\n"
        "    theirs = torch.empty_like(x)\n"
        "    works = [dist.isend(x, other, group=group), dist.irecv(theirs, other, group=group)]\n"
        "    for work in works:\n"
        "        work.wait()\n"
        "    torch.add(x, theirs, out=out)\n"
    )
    bundle = examined(tmp_path, body)
    assert passed(bundle, "cpu"), brief(bundle)


def test_a_group_of_its_own_made_in_the_first_call_passes(tmp_path: Path) -> None:
    body = (
        "    if group not in OWN:\n"
        "        OWN[group] = dist.new_group(list(range(dist.get_world_size(group))))\n"
        "    out.copy_(x)\n"
        "    dist.all_reduce(out, group=OWN[group])\n"
    )
    bundle = examined(tmp_path, body, head="OWN = {}\n" + HEAD)
    assert passed(bundle, "cpu"), brief(bundle)


def test_gathering_and_adding_passes(tmp_path: Path) -> None:
    body = (
        "    parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]\n"
        "    dist.all_gather(parts, x, group=group)\n"
        "    torch.sum(torch.stack(parts), dim=0, out=out)\n"
    )
    bundle = examined(tmp_path, body)
    assert passed(bundle, "cpu"), brief(bundle)


# --- a rank that is gone -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deed", "rule", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "CG901", "the process of rank 1 died by signal 9"),
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            "CG901",
            "the process of rank 1 died by signal 11",
        ),
        ("os._exit(0)", "CG902", "the process of rank 1 left with status 0"),
        ("raise SystemExit(4)", "CG501", "only rank 1: SystemExit: 4"),
    ],
)
def test_a_rank_that_ends_is_named(tmp_path: Path, deed: str, rule: str, words: str) -> None:
    bundle = examined(tmp_path, f"    if rank == 1:\n        {deed}\n{SUM}")
    assert first(bundle)[:2] == ("eager", rule)
    assert words in first(bundle)[2]
    assert {row["rank"] for row in failures(bundle)} == {1}


def test_the_next_case_gets_a_fresh_group(tmp_path: Path) -> None:
    """One shape kills a rank; the others are none the worse for it."""
    body = f"    if rank == 0 and x.shape[0] < 4:\n        os._exit(7)\n{SUM}"
    bundle = examined(tmp_path, body, more=("--seed", "5"))
    wrong = {row["label"] for row in failures(bundle)}
    right = {row["label"] for row in rows(bundle) if row["status"] == "ok"}
    assert len(wrong) == 1
    assert len(right) == 2


# --- hangs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["call", "capture"])
def test_a_hang_ends_with_its_deadline(tmp_path: Path, where: str) -> None:
    when = " and torch.cuda.is_current_stream_capturing()" if where == "capture" else ""
    body = f"    while rank == 0{when}:\n        time.sleep(0.01)\n{SUM}"
    started = time.monotonic()
    bundle = examined(tmp_path, body, more=("--case", "hidden_dim=448"))
    assert time.monotonic() - started < DEADLINES + 30
    kind, rule, words = first(bundle)
    assert (kind, rule) == ("eager" if where == "call" else "capture", "CG104")
    assert "rank 0 has not answered and called no collective" in words
    assert failures(bundle)[0]["rank"] == 0
    assert failures(bundle)[0]["findings"][0]["place"]["line"] in (13, 14)


def test_collectives_in_another_order_are_no_mere_hang(tmp_path: Path) -> None:
    body = (
        "    out.copy_(x)\n"
        "    parts = [torch.empty_like(x) for _ in range(2)]\n"
        "    if rank == 0:\n"
        "        dist.all_gather(parts, x, group=group)\n"
        "    dist.all_reduce(out, group=group)\n"
        "    if rank == 1:\n"
        "        dist.all_gather(parts, x, group=group)\n"
    )
    bundle = examined(tmp_path, body)
    kind, rule, words = first(bundle)
    assert kind == "eager"
    assert rule in ("CG602", "CG501"), words


# --- what ranks leave behind ---------------------------------------------------------------------


def test_what_a_rank_started_is_ended(tmp_path: Path) -> None:
    """`left_behind` looks for the child that rank 1 started in a session of its own."""
    body = (
        "    if rank == 1 and not STARTED:\n"
        "        STARTED.append(subprocess.Popen([sys.executable, '-c', 'import time; "
        "time.sleep(600)'], start_new_session=True))\n"
    )
    bundle = examined(tmp_path, body + SUM, head="STARTED = []\n" + HEAD)
    findings = [f["rule"] for row in failures(bundle) for f in row["findings"]]
    assert "CG904" in findings, brief(bundle)


# --- only in step ------------------------------------------------------------------------------


def test_an_exchange_that_is_right_only_in_step_fails(tmp_path: Path) -> None:
    """Ranks exchange through a file, and nobody waits for the other's part."""
    body = (
        "    mine = f'{BOARD}/{rank}'\n"
        "    torch.save(x, mine + '.new')\n"
        "    os.replace(mine + '.new', mine)\n"
        "    other = f'{BOARD}/{1 - rank}'\n"
        "    theirs = torch.load(other) if os.path.exists(other) else torch.zeros_like(x)\n"
        "    torch.add(x, theirs if theirs.shape == x.shape else torch.zeros_like(x), out=out)\n"
    )
    board = tmp_path / "board"
    board.mkdir()
    bundle = examined(tmp_path, body, head=f"BOARD = {str(board)!r}\n" + HEAD)
    assert len(failures(bundle)) == len(rows(bundle)), brief(bundle)
