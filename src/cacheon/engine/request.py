"""What a run is asked to examine, and what it tells while it works."""

from typing import Literal

from cacheon.contract.case import Case
from cacheon.records.strict import Record

Device = Literal["cuda", "cpu"]
Isolation = Literal["process", "inline"]


class Candidate(Record):
    """One variant's code in its private snapshot. `prepare` is empty where there is none."""

    root: str
    source: str
    entry: str
    prepare: str = ""


class Budget(Record):
    """Seconds for one command of the worker: ordinary ones, and those that may compile."""

    command: float = 30.0
    compile: float = 300.0


class VariantRequest(Record):
    """One variant to examine. `graph`: capture and replay are asked for (on a CPU:
    rehearsed). `larger` is the eager call of the perturbation. `ranks`: workers that make
    each call together, as a group."""

    slot: str
    variant: str
    dtype: str
    candidate: Candidate
    control: Candidate | None
    cases: tuple[Case, ...]
    larger: Case | None
    graph: bool
    domain: Literal["full", "partial"] = "full"
    notes: tuple[str, ...] = ()
    ranks: int = 1


class RunSettings(Record):
    """How every variant of a run is examined. `replays`: compared replays a case and
    order; `soak`: replays in bursts after them. `scratch`: directories that go with the
    examination, even where its host is killed. `triton`: whether a candidate may compile with
    it, a hint that saves time."""

    device: Device
    seed: int
    replays: int = 8
    soak: int = 256
    isolation: Isolation = "process"
    budget: Budget = Budget()
    scratch: tuple[str, ...] = ()
    triton: bool = True


class SeenDevice(Record):
    """One device of the machine, by what makes it alike others; `memory` in MiB."""

    name: str
    architecture: str
    memory: int


class DeviceFacts(Record):
    """What the zygote's first trusted child says of the device. `devices`: all that are
    visible, the one in use among them; none on a CPU."""

    device: Device
    name: str
    architecture: str
    torch: str
    cuda: str = ""
    driver: str = ""
    triton: str = ""
    cuda_bindings: str = ""
    devices: tuple[SeenDevice, ...] = ()


class Progress(Record):
    """One step of one variant, for a person who waits."""

    slot: str
    variant: str
    text: str
    done: int
    total: int
