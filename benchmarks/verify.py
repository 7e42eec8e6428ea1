"""The budgets of `verify`, `scan` and `explain`: each a ratio or a difference against a bare
process, measured in this very run. `make bench`, or `python benchmarks/verify.py [--json FILE]`.

Exits with 1 where a budget is not kept.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.paper.scan.long_source import long_source  # noqa: E402

EXAMPLES = ROOT / "src" / "cacheon" / "examples" / "good"
TORCH = EXAMPLES / "torch_silu_and_mul"
TRITON = EXAMPLES / "triton_silu_and_mul"
RUN = [sys.executable, "-m", "cacheon.cli"]
_SCRIPT_OF_HOST = """
import resource, sys
from cacheon.cli.main import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def seconds(command: Sequence[str], repeats: int) -> float:
    """The median of `repeats` runs, after one that fills the file cache."""
    taken = []
    for turn in range(repeats + 1):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment())
        if turn:
            taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _environment() -> dict[str, str]:
    given = os.environ.get("PYTHONPATH")
    return dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), *filter(None, [given])]))


def _long_bundle(root: Path) -> int:
    """A bundle of one long source without a fault; how many lines it has."""
    source = long_source("t + 1")
    (root / "k.py").write_text(source)
    (root / "manifest.toml").write_text(
        'bundle_id = "long"\nabi_version = "cacheon-op-abi-v0"\n[[ops]]\n'
        'slot = "activation.silu_and_mul"\nsource = "k.py"\nentry = "silu_and_mul"\n'
    )
    return source.count("\n")


class Bench:
    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []

    def row(self, what: str, value: float, budget: float, unit: str, shown: str) -> None:
        within = value <= budget
        self.rows.append(
            {"what": what, "value": value, "budget": budget, "unit": unit, "within": within}
        )
        mark = "ok  " if within else "OVER"
        print(f"{mark} {what}: {value:.3g} {unit}, budget {budget:g} ({shown})", flush=True)

    def starts(self, repeats: int) -> None:
        bare = seconds([sys.executable, "-c", "pass"], repeats)
        for words in (["--help"], ["slots"], ["explain", "CG203"]):
            taken = seconds([*RUN, *words], repeats)
            shown = f"{taken:.3f} s against {bare:.3f} s bare"
            self.row(f"`cacheon {words[0]}` over bare", taken - bare, 0.15, "s", shown)
        with tempfile.TemporaryDirectory() as directory:
            lines = _long_bundle(Path(directory))
            taken = seconds([*RUN, "scan", directory], repeats)
        shown = f"{taken:.3f} s against {bare:.3f} s bare"
        self.row(f"`cacheon scan` of {lines} lines over bare", taken - bare, 1.0, "s", shown)

    def first_verify_on_cpu(self, repeats: int) -> None:
        torch = seconds([sys.executable, "-c", "import torch"], repeats)
        taken = seconds([*RUN, "verify", str(TORCH), "--device", "cpu"], repeats)
        shown = f"{taken:.2f} s against {torch:.2f} s for import torch"
        self.row("first verify on a CPU", taken / torch, 3.0, "x", shown)

    def host_memory(self) -> None:
        """The host's own peak; its children are counted apart by the kernel."""
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT_OF_HOST, "verify", str(TORCH)],
            check=True,
            capture_output=True,
            text=True,
            env=_environment(),
        )
        peak = int(done.stderr.strip().splitlines()[-1]) / 1024
        self.row("peak memory of the host", peak, 60.0, "MB", "ru_maxrss of the process itself")

    def gpu(self, repeats: int) -> None:
        bare = seconds(
            [sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"], repeats
        )
        for bundle in (TORCH, TRITON):
            taken = seconds([*RUN, "verify", str(bundle), "--device", "cuda"], repeats)
            shown = f"{taken:.2f} s against {bare:.2f} s for torch.zeros on the GPU"
            self.row(f"first verify of {bundle.name} on a GPU", taken / bare, 1.8, "x", shown)
        self._further_bundle()

    def _further_bundle(self) -> None:
        """Seconds of the second and third bundle in one command, as the run itself says."""
        with tempfile.TemporaryFile() as target:
            subprocess.run(
                [*RUN, "verify", *[str(TORCH)] * 3, "--device", "cuda", "--format", "json"],
                check=True,
                stdout=target,
                env=_environment(),
            )
            target.seek(0)
            bundles = json.load(target)["bundles"]
        worst = max(bundle["seconds"] for bundle in bundles[1:])
        self.row("each further bundle on a GPU", worst, 2.0, "s", "the slower of two")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    arguments = parser.parse_args()
    bench = Bench()
    bench.starts(max(5, arguments.repeats))
    bench.host_memory()
    bench.first_verify_on_cpu(arguments.repeats)
    if Path("/dev/nvidiactl").exists():
        bench.gpu(arguments.repeats)
    else:
        print("     no GPU here: its budgets were not measured")
    if arguments.json:
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        body = {"rows": bench.rows, "cpu_seconds": children}
        arguments.json.write_text(json.dumps(body, indent=1) + "\n")
    return 0 if all(row["within"] for row in bench.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
