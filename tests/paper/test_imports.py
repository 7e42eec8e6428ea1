"""The paper wing starts fast: it never loads torch, triton or the engine."""

import subprocess
import sys
from pathlib import Path

import cacheon

ROOMS = ("records", "rules", "contract", "bundle", "scan", "evidence")
_LOAD = """
import importlib, pkgutil, sys
for room in {rooms!r}:
    package = importlib.import_module("cacheon." + room)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
heavy = ("torch", "triton", "numpy", "rich", "click", "cacheon.engine", "difflib")
print(sorted(name for name in heavy if name in sys.modules))
"""


def run(code: str) -> str:
    source = str(Path(cacheon.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_no_module_of_the_paper_wing_loads_anything_heavy() -> None:
    assert run(_LOAD.format(rooms=ROOMS)) == "[]"


def test_the_slots_need_neither_files_nor_networks() -> None:
    loaded = run("import cacheon.contract.slots\nprint(*sys.modules)").split()
    assert not {"json", "tomllib", "socket", "subprocess", "tempfile"} & set(loaded)
