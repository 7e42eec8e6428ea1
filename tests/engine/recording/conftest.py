"""What several tests of the recorder need."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def interpreted(tmp_path: Path) -> Callable[[str], None]:
    """Runs a program whose Triton kernels are interpreted, in a process that set that itself;
    it must print "all is well"."""

    def run(source: str) -> None:
        # Triton's compiler front end reads the kernel's source from a file.
        program = tmp_path / "program.py"
        program.write_text(source)
        done = subprocess.run(
            [sys.executable, str(program)],
            env={
                **os.environ,
                "TRITON_INTERPRET": "1",
                "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stdout.strip() == "all is well", done.stderr

    return run
