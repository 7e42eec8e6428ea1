"""`make fuzz`: what it says of a target, and what it leaves of a finding."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz import guided, run
from tests.fuzz.loop import Finding
from tests.fuzz.targets.target import Target


def test_without_a_guide_a_finding_is_left_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(data: bytes) -> bool:
        if b"x" in data:
            raise KeyError("x")
        return True

    broken = Target("broken", check, lambda: [b"abc"], words=(b"x",))
    monkeypatch.setattr(guided, "target", lambda name: broken)
    with pytest.raises(Finding):
        guided.wander("broken", 10, 1, tmp_path)
    assert b"x" in (tmp_path / "finding").read_bytes()


def test_without_a_guide_the_executions_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guided.wander("dump", 1, 1, tmp_path) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert int(line.removeprefix(guided.DONE)) > 10


def ended(monkeypatch: pytest.MonkeyPatch, code: int, said: bytes, left: bytes = b"") -> None:
    """A target's process that ended so, and the input that it left."""

    def start(command: list[str], **more: Any) -> subprocess.CompletedProcess[bytes]:
        findings = Path(command[command.index("--findings") + 1])
        if left:
            (findings / "crash-1234").write_bytes(left)
        return subprocess.CompletedProcess(command, code, stdout=said)

    monkeypatch.setattr(subprocess, "run", start)


@pytest.mark.parametrize(
    "said",
    [b"cov: 3\ncov: 12\nstat::number_of_executed_units: 4000\n", b"executions: 4000\n"],
)
def test_a_target_that_found_nothing_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: bytes
) -> None:
    ended(monkeypatch, 0, said)
    assert run.fuzz("dump", 1, 7)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[:3] == ["dump", "4000", "executions"]
    assert ("12 places covered" in line) == (b"cov" in said)


def test_the_first_finding_ends_it_and_its_input_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "KEPT", tmp_path / "build" / "fuzz")
    monkeypatch.setattr(sys, "argv", ["fuzz", "dump", "frames"])
    ended(monkeypatch, 77, b"Uncaught Python exception\n", b"bad")
    assert run.main() == 1
    said = capsys.readouterr().out
    assert "frames" not in said
    (kept,) = (tmp_path / "build" / "fuzz").iterdir()
    assert kept.read_bytes() == b"bad" and f"input: build/fuzz/{kept.name}" in said


@pytest.mark.parametrize(("code", "said"), [(0, b""), (1, b"stat::number_of_executed_units: 9\n")])
def test_a_process_that_ends_in_another_way_is_no_success(
    monkeypatch: pytest.MonkeyPatch, code: int, said: bytes
) -> None:
    ended(monkeypatch, code, said)
    assert not run.fuzz("dump", 1, 7)
