"""Real examinations, through the command line, in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def python_path() -> str:
    """The source tree, then whatever this very process was given."""
    return os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


MARK = "CACHEON_TEST_MARK"
"""In the environment of a run: by it everything that the run started is known."""


def verify(
    *bundles: Path, device: str, arguments: tuple[str, ...] = (), mark: str = ""
) -> dict[str, Any]:
    """The document of one `cacheon verify`; its exit code stands in it."""
    return _document(["verify", *map(str, bundles), "--device", device, *arguments], mark)


def qualify(
    *bundles: Path, arena: str, store: Path, arguments: tuple[str, ...] = (), mark: str = ""
) -> dict[str, Any]:
    """The document of one `cacheon qualify`; its exit code stands in it."""
    words = ["qualify", *map(str, bundles), "--arena", arena, "--store", str(store), *arguments]
    return _document(words, mark)


def _document(words: list[str], mark: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "cacheon.cli", *words, "--format", "json"]
    environment = dict(os.environ, PYTHONPATH=python_path(), **({MARK: mark} if mark else {}))
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=1500
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["exit_code"] == done.returncode
    return document


def rows(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    """Every applicable row of every variant of a bundle."""
    return [row for v in bundle["variants"] for row in v["rows"] if row["applicable"]]


def failures(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in rows(bundle) if row["status"] == "fail"]


def passed(bundle: dict[str, Any], device: str) -> bool:
    """Whether every variant passed everything that this device can show."""
    words = {(v["word"], v["graph"], v["rehearsal"]) for v in bundle["variants"]}
    wanted = (
        ("PASS", "verified", "")
        if device == "cuda"
        else ("NUMERICAL_PASS", "NOT_VERIFIED", "passed")
    )
    return (
        not bundle["error"] and words == {wanted} and all(r["status"] == "ok" for r in rows(bundle))
    )


def as_public(bundle: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a public case got its verdict and one of its phases on CUDA."""
    if expected["verdict"] == "pass":
        return passed(bundle, "cuda")
    seen = {row["failure"] for row in failures(bundle)}
    return bool(seen) and seen <= set(expected["phase"].split("|"))


def brief(bundle: dict[str, Any]) -> str:
    """A bundle's outcome in a few words, for a failing test."""
    said = [
        f"{v['slot']} {v['variant']} {v['word']} {v['graph']} {v['rehearsal']}"
        for v in bundle["variants"]
    ]
    for row in rows(bundle):
        for finding in row["findings"][:1]:
            place = finding["place"]["line"] if finding["place"] else None
            stage = f"{row['failure']}/{finding['stage']}"
            said.append(f"{stage} {finding['rule']} {place} {finding['message'][:160]}")
        if row["status"] == "incomplete":
            said.append(f"incomplete: {row['infrastructure']}")
    return f"{bundle['path']}: {bundle['error']} " + " | ".join(said)


def left_behind(mark: str) -> list[str]:
    """Command lines of living processes that were started by the run of this mark."""
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            environment = (directory / "environ").read_bytes()
            command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and f"{MARK}={mark}".encode() in environment.split(b"\0"):
            found.append(command)
    return found
