"""Mutates the modules that decide, and asks the tests whether they notice: `make mutants`.

Works on a copy, so that a killed run leaves no mutant behind. Exits with 1 where a mutant
survives that docs/evidence/mutants.md does not list with the reason why it changes nothing.
"""

import argparse
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs" / "evidence" / "mutants.md"
ROOM = Path("src/cacheon/evidence")
MODULES = ("binding.py", "rows.py", "soundness.py", "veto.py")
"""Pure functions all: what decides. Reading and writing are tried by other means."""
TESTS = Path("tests/paper/evidence/deciding")
ASKED = (
    *(f"test_{name}.py" for name in ("veto", "rows", "soundness", "binding")),
    # Slower, and asked last: the first failure ends a run.
    *(f"test_{name}.py" for name in ("grading", "intake", "properties")),
)
_PLAIN = " ".join(f"-p no:{plugin}" for plugin in ("cacheprovider", "xdist", "cov", "anyio"))
"""Started hundreds of times, pytest is told to load no more than it needs."""
SECONDS = 120
"""For one mutant; a loop that never ends is noticed, too."""
_LISTED = re.compile(r"^\| `([a-z]+\.py)` \| `(\w+)` \| `(.+?)` \|", re.MULTILINE)


class Survivor(NamedTuple):
    module: str
    operator: str
    line: str


def prepare(directory: Path) -> None:
    """The copy: the paper wing and the tests that are asked."""
    wing = ("records", "rules", "contract", "bundle", "scan", "evidence")
    for room in wing:
        shutil.copytree(ROOT / "src/cacheon" / room, directory / "src/cacheon" / room)
    for file in (ROOT / "src/cacheon").glob("*.py"):
        shutil.copy(file, directory / "src/cacheon")
    shutil.copytree(ROOT / TESTS, directory / TESTS)
    tests = " ".join(str(TESTS / name) for name in ASKED)
    modules = ", ".join(f'"{ROOM / name}"' for name in MODULES)
    (directory / "mutants.toml").write_text(
        "[cosmic-ray]\n"
        f"module-path = [{modules}]\n"
        f"timeout = {SECONDS}.0\n"
        "excluded-modules = []\n"
        f'test-command = "env PYTHONPATH=src:. {sys.executable} -m pytest -qx '
        f'--import-mode=importlib {_PLAIN} {tests}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n'
    )


def cosmic_ray(directory: Path, *words: str) -> None:
    command = [str(Path(sys.executable).with_name("cosmic-ray")), *words]
    subprocess.run(command, cwd=directory, check=True, env={"PATH": "/usr/bin:/bin"})


def survivors(directory: Path) -> tuple[int, list[Survivor]]:
    """How many mutants there were, and those that no test noticed."""
    with sqlite3.connect(directory / "session.sqlite") as database:
        (total,) = database.execute("SELECT count(*) FROM work_results").fetchone()
        rows = database.execute(
            "SELECT module_path, operator_name, start_pos_row FROM mutation_specs "
            "JOIN work_results USING (job_id) WHERE test_outcome = 'SURVIVED' "
            "ORDER BY module_path, start_pos_row, operator_name"
        ).fetchall()
    found = []
    for path, operator, row in rows:
        line = (directory / path).read_text().splitlines()[row - 1].strip()
        found.append(Survivor(Path(path).name, operator.removeprefix("core/"), line))
    return total, found


def listed() -> Counter[Survivor]:
    """What the report says changes nothing."""
    return Counter(Survivor(*found) for found in _LISTED.findall(REPORT.read_text()))


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        prepare(directory)
        cosmic_ray(directory, "init", "mutants.toml", "session.sqlite")
        cosmic_ray(directory, "baseline", "mutants.toml")
        cosmic_ray(directory, "exec", "mutants.toml", "session.sqlite")
        total, found = survivors(directory)
    new = Counter(found) - listed()
    gone = listed() - Counter(found)
    print(f"{total} mutants, {total - len(found)} noticed, {len(found)} survive")
    for what, rows in (("survives, and is not listed", new), ("is listed, and is gone", gone)):
        for row in rows.elements():
            print(f"{row.module}: {row.operator}: {row.line}: {what}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
