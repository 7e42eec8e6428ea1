"""What torch can do here, asked in a process of its own.

`python -m cacheon.engine.selftest` prints one JSON object. On a GPU it shares device
memory with a second process, as grader and worker do, and says whether the bytes came
through. Whoever asks needs neither torch nor CUDA.
"""

import json
import subprocess
import sys

_PATTERN = bytes(range(64))
_PATIENCE = 120.0


def main(arguments: list[str]) -> int:
    answer = _open(arguments[0]) if arguments else _look()
    print(json.dumps(answer, sort_keys=True))
    return 0


def _look() -> dict[str, object]:
    try:
        import torch
    except ImportError as error:
        return {"torch": "", "error": str(error)}
    found: dict[str, object] = {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda or "",
        "devices": [],
        "ipc": "",
        "error": "",
    }
    if not torch.cuda.is_available():
        return found
    found["devices"] = [
        {
            "name": torch.cuda.get_device_name(index),
            "architecture": "sm{}{}".format(*torch.cuda.get_device_capability(index)),
        }
        for index in range(torch.cuda.device_count())
    ]
    try:
        found["ipc"] = _share()
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        found["ipc"] = f"failed: {error}".splitlines()[0]
    return found


def _share() -> str:
    """Empty would mean untried: `ok`, or `failed` and why."""
    import torch

    from cacheon.engine import driver
    from cacheon.engine.slab import Slab

    torch.zeros(1, device="cuda")
    address = driver.allocate(1 << 20)
    slab = Slab(address, 1 << 20, torch.device("cuda", 0))
    slab.raw(0, len(_PATTERN)).copy_(torch.tensor(list(_PATTERN), dtype=torch.uint8))
    torch.cuda.synchronize()
    handle = driver.share(address).hex()
    other = subprocess.run(
        [sys.executable, "-m", "cacheon.engine.selftest", handle],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    if other.returncode != 0:
        last = other.stderr.strip().splitlines()[-1:] or [f"status {other.returncode}"]
        return f"failed: {last[0]}"
    return "ok" if json.loads(other.stdout)["bytes"] == _PATTERN.hex() else "failed: other bytes"


def _open(handle: str) -> dict[str, object]:
    """The second process: map the memory and say what it holds."""
    import torch

    from cacheon.engine import driver
    from cacheon.engine.slab import Slab

    torch.zeros(1, device="cuda")
    address = driver.open_shared(bytes.fromhex(handle))
    slab = Slab(address, 1 << 20, torch.device("cuda", 0))
    return {"bytes": bytes(slab.raw(0, len(_PATTERN)).tolist()).hex()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
