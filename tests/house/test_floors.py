"""The house: import contracts, and what a verb loads."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "triton", "numpy", "cacheon.engine.grader", "cacheon.engine.worker")


_ASKED = ["--bundle", "src/cacheon/examples/good/torch_rmsnorm", "--arena", "h200-decode"]
_ASKED += ["--launch", "no-such-launch.json"]


def modules_after(*words: str) -> tuple[int, set[str]]:
    """The exit code of a command line run in a fresh interpreter, and what it loaded."""
    script = (
        "import sys, json, io\n"
        "from cacheon.cli.main import run\n"
        f"code = run({list(words)!r})\n"
        "print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
        check=True,
    )
    code, names = json.loads(done.stderr.strip().splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["verify", "--help"], 0),
        (["slots"], 0),
        (["slots", "attention.decode"], 0),
        (["slots", "--json"], 0),
        (["explain", "CG101"], 0),
        (["scan", "src/cacheon/examples/good"], 0),
        (["scan", "no-such-path"], 2),
        (["explain", "--list"], 0),
        (["init", "--help"], 0),
        (["doctor", "--help"], 0),
        (["arena", "list"], 0),
        (["arena", "show", "norm.rmsnorm"], 0),
        (["launch", "--help"], 0),
        (["require", "norm.rmsnorm", *_ASKED], 2),
        (["init", "no.such.slot", "somewhere"], 2),
        (["verify", "no-such-bundle", "--device", "cpu"], 2),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_paper_verbs_load_nothing_heavy(words: list[str], code: int) -> None:
    got, names = modules_after(*words)
    assert got == code
    assert not names & set(HEAVY)
    # Nothing is drawn in a pipe.
    assert "rich" not in names


@pytest.mark.parametrize("room", ["records", "rules", "contract", "bundle", "scan", "evidence"])
def test_the_paper_wing_stands_alone(room: str) -> None:
    script = (
        "import importlib, pkgutil, sys\n"
        f"import cacheon.{room} as room\n"
        "for found in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "    importlib.import_module(found.name)\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
        check=True,
    )
    names = done.stdout.split()
    assert not set(names) & set(HEAVY)
    assert not [name for name in names if name.startswith(("cacheon.engine", "cacheon.cli"))]


def test_import_contracts_hold() -> None:
    if importlib.util.find_spec("importlinter") is None:
        pytest.fail("import-linter is part of the dev extra")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; exit(lint_imports())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_there_are_no_drawers_and_no_giants() -> None:
    for path in (ROOT / "src" / "cacheon").rglob("*.py"):
        assert path.stem not in {"utils", "util", "helpers", "common", "misc"}, path
        if "examples" not in path.parts:
            assert len(path.read_text().splitlines()) <= 450, path
