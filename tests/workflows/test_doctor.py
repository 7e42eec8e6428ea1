"""`doctor` on machines that this one is not: what commands print is given."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cacheon.workflows import doctor as module
from cacheon.workflows.doctor import Health, doctor, run_command

H200 = {"name": "NVIDIA H200", "architecture": "sm90"}


@pytest.fixture(autouse=True)
def no_mps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    return tmp_path


def look(
    monkeypatch: pytest.MonkeyPatch, *, torch: Mapping[str, object] | None, mode: str = ""
) -> Health:
    monkeypatch.setattr(module, "has_gpu", lambda: bool(mode))

    def run(command: Sequence[str]) -> str:
        if command[0] == "nvidia-smi":
            return f"{mode}\n"
        return "" if torch is None else json.dumps(torch)

    return doctor(run)


def state(health: Health, name: str) -> str:
    return next(check.state for check in health.checks if check.name == name)


def test_a_gpu_with_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = {"torch": "2.11.0", "cuda": "13.0", "devices": [H200], "ipc": "ok"}
    health = look(monkeypatch, torch=torch, mode="Default")
    assert (health.graph, health.isolation) == (True, "process")
    assert state(health, "cuda") == state(health, "ipc") == state(health, "compute mode") == "ok"


def test_an_exclusive_gpu_asks_for_the_inline_form(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = {"torch": "2.11.0", "devices": [H200], "ipc": "failed: one context only"}
    health = look(monkeypatch, torch=torch, mode="Exclusive_Process")
    assert (health.graph, health.isolation) == (True, "inline")
    assert state(health, "compute mode") == "trouble"


def test_mps_makes_an_exclusive_gpu_shareable(
    monkeypatch: pytest.MonkeyPatch, no_mps: Path
) -> None:
    (no_mps / "control").touch()
    torch = {"torch": "2.11.0", "devices": [H200], "ipc": "ok"}
    health = look(monkeypatch, torch=torch, mode="Exclusive_Process")
    assert (health.graph, health.isolation) == (True, "process")


def test_a_gpu_that_torch_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    health = look(monkeypatch, torch={"torch": "2.13.0+cpu"}, mode="Default")
    assert (health.numerics, health.graph) == (True, False)
    assert state(health, "cuda") == "trouble"


@pytest.mark.parametrize("torch", [None, {"torch": "", "error": "No module named 'torch'"}])
def test_no_torch(monkeypatch: pytest.MonkeyPatch, torch: dict[str, object] | None) -> None:
    health = look(monkeypatch, torch=torch)
    assert (health.numerics, health.rehearsal, health.graph) == (False, False, False)
    advice = next(check.advice for check in health.checks if check.name == "torch")
    assert "cacheon[engine]" in advice


def test_a_command_that_is_missing_or_fails_says_nothing() -> None:
    assert run_command(["/no/such/command"]) == ""
    assert run_command(["false"]) == ""
    assert run_command(["echo", "hello"]) == "hello\n"
