"""What every test shares: which hardware is there, where the public cases lie, what a run
on a GPU leaves behind."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "tests" / "paper"
EXAMPLES = ROOT / "src" / "cacheon" / "examples"

_results: list[dict[str, object]] = []


@cache
def gpus() -> tuple[str, ...]:
    """The names of the GPUs, asked without torch."""
    try:
        said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    return tuple(line for line in said.stdout.splitlines() if line.startswith("GPU"))


def pytest_configure(config: pytest.Config) -> None:
    """Where tests run side by side on several GPUs, each process has one to itself: memory in
    use on a GPU is measured, and others must not allocate there."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if number and len(gpus()) > 1:
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(int(number) % len(gpus())))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that need hardware which is not there are deselected, never skipped: a skip
    looks like success."""
    for item in items:
        if PAPER in item.path.parents and item.get_closest_marker("slow") is None:
            item.add_marker("covering")
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        needed = 2 if item.get_closest_marker("ranks") else 1 if _needs_gpu(item) else 0
        (left if needed > len(gpus()) else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _needs_gpu(item: pytest.Item) -> bool:
    return item.get_closest_marker("gpu") is not None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _results.append(
            {
                "test": report.nodeid,
                "when": report.when,
                "outcome": report.outcome,
                "seconds": round(report.duration, 3),
            }
        )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """`make gpu-test` sets CACHEON_STRICT: there a skip is a failure."""
    skipped = [row["test"] for row in _results if row["outcome"] == "skipped"]
    if os.environ.get("CACHEON_STRICT") and skipped:
        print(f"\nskipped, which is a failure here: {skipped}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    directory = os.environ.get("CACHEON_RECORDS")
    if directory and not hasattr(session.config, "workerinput"):
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        body = {"gpus": gpus(), "exit": int(session.exitstatus), "tests": _results}
        (target / f"{os.environ.get('CACHEON_RUN', '')}tests.json").write_text(
            json.dumps(body, indent=1) + "\n"
        )


@pytest.fixture(scope="session")
def cases() -> Path:
    """The public cases, read in place: CACHEON_CASES, or beside the repository."""
    given = os.environ.get("CACHEON_CASES")
    return Path(given).resolve() if given else (ROOT.parent / "shared" / "cases").resolve()


@pytest.fixture(scope="session")
def records_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a test leaves what it saw: CACHEON_RECORDS, or a directory that is thrown away."""
    given = os.environ.get("CACHEON_RECORDS")
    if given:
        Path(given).mkdir(parents=True, exist_ok=True)
        return Path(given).resolve()
    return tmp_path_factory.mktemp("records")
