"""A real observer is killed in the middle of a real run, and goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cacheon.evidence.keys import new_key
from cacheon.evidence.running import SEEN, SENT
from cacheon.evidence.store import DirectoryStore

TWO = Path(__file__).parents[2] / "src" / "cacheon" / "examples" / "good" / "two_variants_silu"
CLI = [sys.executable, "-m", "cacheon.cli"]


def cacheon(*words: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*CLI, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_a_killed_observer_goes_on_where_it_was(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    public = new_key(tmp_path / "key").public.removeprefix("ed25519:")
    cacheon("launch", "--device", "cpu", "--output", tmp_path / "launch.json")
    cacheon(
        "require", "activation.silu_and_mul", "--bundle", TWO, "--arena", "rehearsal-cpu",
        "--launch", tmp_path / "launch.json", "--observer", f"me={public}",
        "--output", tmp_path / "requirement.json",
    )  # fmt: skip
    store = tmp_path / "store"
    words = [
        "observe", tmp_path / "requirement.json", "--bundle", TWO,
        "--store", store, "--key", tmp_path / "key",
    ]  # fmt: skip
    first = subprocess.Popen([*CLI, *map(str, words)], start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(store.glob(f"pointers/{SEEN}/*")):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    with DirectoryStore.open(store) as kept:
        seen = list(kept.names(SEEN))
        assert not list(kept.names(SENT))
    said = cacheon(*words).stdout
    assert said.count("seen before, not examined again") == len(seen)
    with DirectoryStore.open(store) as kept:
        assert set(seen) < set(kept.names(SEEN))
        assert len(list(kept.names(SENT))) == 1
