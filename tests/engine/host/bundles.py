"""Requests for bundles that a test writes: the shipped silu, with lines of its own."""

import shutil
from pathlib import Path

import msgspec
from tests.conftest import EXAMPLES

from cacheon.bundle import open_bundle
from cacheon.engine.request import DeviceFacts, VariantRequest
from cacheon.workflows.options import Options
from cacheon.workflows.selection import request_for

SEED = 11
HONEST = "    gate, up = x.float().chunk(2, dim=-1)\n    out.copy_(silu(gate) * up)\n"
PRELUDE = """import os, signal, subprocess, threading, time
from pathlib import Path
import torch
from torch.nn.functional import silu

def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0

def kin():
    '''The grader, and workers beside this one: other children of the fork server.'''
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and parent_of(pid) == os.getppid()]

def strike(pids, number=signal.SIGKILL):
    for pid in pids:
        os.kill(pid, number)
    time.sleep(1000)

def beside(name):
    '''A file outside the snapshot, which must stay as it is.'''
    return Path(__file__).parents[2] / f"{Path(__file__).parents[1].name}.{name}"

def once(name="mark"):
    '''Whether this is the first time in this bundle.'''
    mark = beside(name)
    if mark.exists():
        return False
    mark.write_text("")
    return True

def dig(top, name, depth):
    '''A chain of directories, as long as no path may be.'''
    back = os.open(".", os.O_RDONLY)
    os.chdir(top)
    for _ in range(depth):
        os.mkdir(name)
        os.chdir(name)
    os.fchdir(back)

def stray():
    '''A process that leaves the session and lives on; its number stands in `stray`.'''
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    beside("stray").write_text(f"{child.pid}\\n")
"""


def bundle(directory: Path, body: str = HONEST, top: str = "") -> Path:
    """A bundle whose entry has this body, and whose module these lines above it."""
    shutil.copytree(EXAMPLES / "good" / "torch_silu_and_mul", directory)
    source = f"{PRELUDE}\n{top}\ndef silu_and_mul(x, out):\n{body}"
    (directory / "kernels" / "silu_and_mul.py").write_text(source)
    return directory


def request(
    directory: Path, body: str = HONEST, top: str = "", *, graph: bool = True
) -> VariantRequest:
    """Its smallest applicable case, and the larger call."""
    root = bundle(directory, body, top)
    facts = DeviceFacts(device="cpu", name="cpu", architecture="", torch="")
    variant = open_bundle(root).variants[0]
    whole = request_for(variant, root, Options(), facts, SEED)
    applicable = [case for case in whole.cases if case.applicable]
    smallest = min(applicable, key=lambda case: sum(tensor.span for tensor in case.tensors))
    return msgspec.structs.replace(whole, cases=(smallest,), graph=graph)
