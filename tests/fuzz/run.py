"""Fuzzes each parser for some seconds: `make fuzz`.

Prints how many inputs each target had. Ends at the first finding with exit code 1: its input
lies in build/fuzz, and belongs into tests/fuzz/regressions once it is understood.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from random import randrange

from tests.fuzz.guided import DONE
from tests.fuzz.targets import PLACES

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "fuzz"
IN_ALL = 250
"""Seconds for all targets: the rest of five minutes is for starting them."""
_EXECUTIONS = re.compile(rf"^(?:stat::number_of_executed_units:|{DONE})\s*(\d+)", re.MULTILINE)
_COVERED = re.compile(r"\bcov: (\d+)")


def fuzz(name: str, seconds: int, seed: int) -> bool:
    """Whether a target was fuzzed to the end. Prints how it went."""
    with tempfile.TemporaryDirectory(dir=_in_memory()) as directory:
        findings = Path(directory) / "findings"
        findings.mkdir()
        command = [sys.executable, "-m", "tests.fuzz.guided", name, "--findings", str(findings)]
        command += ["--seconds", str(seconds), "--seed", str(seed)]
        started = time.monotonic()
        done = subprocess.run(
            command,
            cwd=ROOT,
            # What a target writes goes with this directory, however its process ends.
            env=dict(os.environ, TMPDIR=directory, PYTHONHASHSEED=str(seed)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        said = done.stdout.decode("utf-8", "replace")
        executions = _EXECUTIONS.search(said)
        found = sorted(path for path in findings.iterdir() if path.is_file())
        if done.returncode == 0 and executions and not found:
            covered = _COVERED.findall(said)
            reached = f"  {covered[-1]} places covered" if covered else ""
            rate = int(executions[1]) / (time.monotonic() - started)
            print(f"  {name:12} {executions[1]:>9} executions  {rate:>6.0f}/s{reached}", flush=True)
            return True
        print(f"  {name:12} FOUND something (seed {seed})\n{said[-6000:]}")
        for path in found:
            print(f"input: {_kept(name, path)}")
    return False


def _in_memory() -> str | None:
    """Where files are quickest."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _kept(name: str, path: Path) -> Path:
    """A finding's input where it stays."""
    KEPT.mkdir(parents=True, exist_ok=True)
    kind = path.name.partition("-")[0]
    kept = KEPT / f"{name}-{kind}-{sha256(path.read_bytes()).hexdigest()[:12]}"
    shutil.copyfile(path, kept)
    return kept.relative_to(ROOT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(PLACES)}")
    parser.add_argument(
        "--seconds", type=int, help="for each target", default=IN_ALL // len(PLACES)
    )
    parser.add_argument("--seed", type=int, default=randrange(1, 1 << 31))
    given = parser.parse_args()
    if unknown := set(given.targets) - set(PLACES):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    names = given.targets or list(PLACES)
    guided = importlib.util.find_spec("atheris") is not None
    how = "guided by coverage" if guided else "blindly: atheris is not installed"
    print(f"{len(names)} targets, {given.seconds} s each, seed {given.seed}, {how}", flush=True)
    # The first finding ends it.
    return 0 if all(fuzz(name, given.seconds, given.seed) for name in names) else 1


if __name__ == "__main__":
    sys.exit(main())
