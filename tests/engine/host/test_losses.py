"""Whose fault it is that the examination was lost: decided from how a process ended."""

import signal
from pathlib import Path

import pytest
from tests.engine.host.bundles import request

from cacheon.engine.host import losses
from cacheon.engine.host.losses import (
    NOT_THERE,
    End,
    Fallen,
    condemned,
    end_of,
    killed_for_memory,
    rule_of,
)
from cacheon.engine.protocol import Ended
from cacheon.engine.request import RunSettings


@pytest.mark.parametrize(
    ("ended", "stopped", "end"),
    [
        (Ended(signal=9), False, End("it died by signal 9", signal=9)),
        (
            Ended(signal=11, output="one\nlast words\n"),
            False,
            End("it died by signal 11; it said: last words", signal=11),
        ),
        (
            Ended(
                status=70,
                output="Traceback (most recent call last):\n  File one\nValueError: first\n\n"
                "Traceback (most recent call last):\n  File two\n...\n"
                "torch.AcceleratorError: CUDA error: no\nTry CUDA_LAUNCH_BLOCKING=1\n",
            ),
            False,
            End(
                "it left with status 70; it said: torch.AcceleratorError: CUDA error: no",
                status=70,
            ),
        ),
        (Ended(signal=9, killed=True), False, End("it had to be killed")),
        (
            Ended(signal=9, killed=True),
            True,
            End("it was stopped by a signal", signal=signal.SIGSTOP),
        ),
        (Ended(status=70), False, End("it left with status 70", status=70)),
        (Ended(status=0), False, End("it left with status 0", status=0)),
    ],
)
def test_how_a_grader_ended(ended: Ended, stopped: bool, end: End) -> None:
    assert end_of(ended, stopped=stopped) == end


@pytest.mark.parametrize(
    ("end", "inline", "rule"),
    [
        (End("", signal=9), False, "CG905"),
        (End("", signal=11), False, "CG905"),
        (End("", signal=signal.SIGSTOP), False, "CG905"),
        # Limits that are set from outside make it leave, or be silent and be killed by us.
        (End("it had to be killed"), False, "CG905"),
        (End("", status=70), False, "CG905"),
        (NOT_THERE, False, "CG905"),
        # Inline the candidate is in it.
        (End("", signal=11), True, "CG901"),
        (End("", signal=9), True, "CG901"),
        (End("", status=0), True, "CG902"),
        (End("it had to be killed"), True, "CG905"),
    ],
)
def test_which_rule_was_broken(end: End, inline: bool, rule: str) -> None:
    assert rule_of(end, inline=inline) == rule


def test_what_the_kernel_killed_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert killed_for_memory() >= 0
    said = tmp_path / "vmstat"
    monkeypatch.setattr(losses, "_VMSTAT", said)
    assert killed_for_memory() == 0
    said.write_text("nr_free_pages 4\noom_kill_other 3\noom_kill 17\npgfault 5\n")
    assert killed_for_memory() == 17
    said.write_text("nr_free_pages 4\n")
    assert killed_for_memory() == 0


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_the_rows_of_a_candidate_that_struck(tmp_path: Path, isolation: str) -> None:
    asked = request(tmp_path / "bundle")
    settings = RunSettings(device="cpu", seed=1, isolation=isolation)  # type: ignore[arg-type]
    fallen = Fallen("the grader was lost: it died by signal 9", rule="CG905", stage="warmup")
    assert fallen.struck
    outcome = condemned(asked, settings, fallen)
    assert (outcome.word, outcome.graph, outcome.isolation) == ("FAIL", "NOT_VERIFIED", isolation)
    assert (outcome.slot, outcome.variant, outcome.entry) == (
        asked.slot,
        asked.variant,
        asked.candidate.entry,
    )
    assert [row.label for row in outcome.rows] == [case.label for case in asked.cases]
    for row, case in zip(outcome.rows, asked.cases, strict=True):
        assert row.applicable == case.applicable
        assert row.status == ("fail" if case.applicable else "not_applicable")
        if case.applicable:
            assert (row.failure, row.stage) == ("eager", "warmup")
            assert row.findings[0].rule == "CG905"
            assert "died by signal 9, twice, and not with the control" in row.findings[0].message


def test_one_that_nobody_struck_has_no_rule() -> None:
    assert not Fallen("the grader said nothing").struck
