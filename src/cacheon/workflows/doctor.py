"""`doctor`: what this machine can do, and what to install.

Nothing heavy is imported here: torch is asked in a process of its own, the GPU by the
driver's own tool.
"""

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from cacheon.records.strict import Record
from cacheon.workflows.verify import has_gpu

State = Literal["ok", "missing", "trouble"]
Run = Callable[[Sequence[str]], str]
_PATIENCE = 240.0
_LONGEST = 1 << 16


class Check(Record):
    """One thing looked at. `advice` says what to do where it is not `ok`, else empty."""

    name: str
    state: State
    found: str
    advice: str = ""


class Health(Record):
    """`numerics`, `rehearsal` and `graph` say what `verify` can show on this machine."""

    checks: tuple[Check, ...]
    numerics: bool
    rehearsal: bool
    graph: bool
    isolation: str


class _Device(msgspec.Struct):
    name: str
    architecture: str


class _Torch(msgspec.Struct):
    """What the self-test says; it is our own code, but in a process that loads torch."""

    torch: str
    error: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    cuda: str = ""
    devices: list[_Device] = []
    ipc: str = ""


def run_command(command: Sequence[str]) -> str:
    """What a command prints, or nothing where it is missing, fails or takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout[:_LONGEST]


def doctor(run: Run = run_command) -> Health:
    """Look at everything. `run` carries out a command and returns what it printed."""
    torch = _ask_torch(run)
    triton = _package("triton", "pip install 'cacheon[triton]', for candidates written in Triton")
    gpu = has_gpu()
    modes = _compute_modes(run) if gpu else []
    exclusive = any("Exclusive" in mode for mode in modes) and not _mps()
    usable = bool(torch.devices)
    shared = torch.ipc == "ok"
    checks = [
        Check(name="python", state="ok", found=f"{platform.python_version()}, {platform.system()}"),
        _check_torch(torch),
        _check_cuda(torch, gpu),
        *([_check_sharing(torch)] if usable else []),
        *([_check_mode(modes, exclusive)] if usable else []),
        _package("cuda-bindings", "pip install 'cacheon[cuda]', to look into the nodes of a graph"),
        triton,
        _check_memory(),
    ]
    return Health(
        checks=tuple(checks),
        numerics=bool(torch.torch),
        rehearsal=bool(torch.torch),
        graph=usable and (shared or exclusive),
        isolation="inline" if usable and (exclusive or not shared) else "process",
    )


def _ask_torch(run: Run) -> _Torch:
    said = run([sys.executable, "-m", "cacheon.engine.selftest"])
    try:
        return msgspec.json.decode(said, type=_Torch)
    except msgspec.DecodeError:
        return _Torch(torch="", error="the self-test gave no answer")


def _check_torch(torch: _Torch) -> Check:
    if torch.torch:
        return Check(name="torch", state="ok", found=torch.torch)
    return Check(
        name="torch",
        state="missing",
        found=torch.error or "not installed",
        advice="pip install 'cacheon[engine]'",
    )


def _check_cuda(torch: _Torch, gpu: bool) -> Check:
    if torch.devices:
        names = ", ".join(f"{device.name} ({device.architecture})" for device in torch.devices)
        return Check(name="cuda", state="ok", found=f"CUDA {torch.cuda}: {names}")
    if not gpu:
        return Check(
            name="cuda",
            state="missing",
            found="no NVIDIA device",
            advice="graph proof needs one; numerics and rehearsal do not",
        )
    return Check(
        name="cuda",
        state="trouble",
        found="there is an NVIDIA device, and torch does not see it",
        advice="install a CUDA build of torch that fits the driver",
    )


def _check_sharing(torch: _Torch) -> Check:
    if torch.ipc == "ok":
        return Check(name="ipc", state="ok", found="two processes share device memory")
    return Check(
        name="ipc",
        state="trouble",
        found=torch.ipc or "untried",
        advice="use --isolation inline, or a container that shares its IPC namespace",
    )


def _compute_modes(run: Run) -> list[str]:
    said = run(["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"])
    return [line.strip() for line in said.splitlines() if line.strip()]


def _mps() -> bool:
    pipe = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return (Path(pipe) / "control").exists()


def _check_mode(modes: Sequence[str], exclusive: bool) -> Check:
    found = ", ".join(dict.fromkeys(modes)) or "unknown"
    if _mps():
        found += ", MPS"
    if exclusive:
        return Check(
            name="compute mode",
            state="trouble",
            found=found,
            advice="one process only gets a context: use --isolation inline, or start MPS",
        )
    return Check(name="compute mode", state="ok", found=found)


def _package(name: str, advice: str) -> Check:
    try:
        return Check(name=name, state="ok", found=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name=name, state="missing", found="not installed", advice=advice)


def _check_memory() -> Check:
    """Shared buffers of a CPU run are memory files: nothing of them touches a disk."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    enough = free >= 2
    return Check(
        name="memory",
        state="ok" if enough else "trouble",
        found=f"{free:.1f} GiB free, {os.cpu_count()} cores",
        advice="" if enough else "an examination may need 2 GiB",
    )
