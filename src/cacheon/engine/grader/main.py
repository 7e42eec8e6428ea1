"""The grader process: trusted, and alone in knowing what an answer should be."""

import importlib.metadata
import os
import socket
import time
from collections.abc import Sequence

import msgspec
import torch

from cacheon.engine import driver, processes
from cacheon.engine.grader.recruits import Keeper
from cacheon.engine.grader.variant import Examiner
from cacheon.engine.protocol import (
    TRUSTED_FRAME,
    AnyAsk,
    AnyTell,
    Begin,
    Closed,
    Ended,
    EndWorker,
    Examine,
    Examined,
    Facts,
    Located,
    LocateWorkers,
    ProcessPort,
    Quiet,
    Spawned,
    SpawnWorker,
    Told,
    WantQuiet,
    Where,
    Wire,
)
from cacheon.engine.request import Progress, RunSettings, SeenDevice
from cacheon.records.errors import InfrastructureError

HostWire = Wire[AnyAsk, AnyTell]


class HostKeeper:
    """Workers are started and ended by the host."""

    def __init__(self, wire: HostWire) -> None:
        self.wire = wire

    def start(self, device: int) -> tuple[int, ProcessPort]:
        self.wire.send(SpawnWorker(device=device))
        answer = self.wire.receive()
        if not isinstance(answer, Spawned):
            raise InfrastructureError(f"no worker came: the host said {type(answer).__name__}")
        return answer.worker, ProcessPort(socket.socket(fileno=self.wire.descriptor()))

    def locate(self, workers: Sequence[int]) -> tuple[Where | None, ...]:
        self.wire.send(LocateWorkers(workers=tuple(workers)))
        answer = self.wire.receive()
        if not isinstance(answer, Located) or len(answer.places) != len(workers):
            raise InfrastructureError(f"no places: the host said {type(answer).__name__}")
        return answer.places

    def end(self, worker: int, hung: bool, killed: bool) -> Ended:
        self.wire.send(EndWorker(worker=worker, hung=hung, killed=killed))
        answer = self.wire.receive()
        if not isinstance(answer, Ended):
            raise InfrastructureError(f"no end: the host said {type(answer).__name__}")
        return answer

    def quiet(self) -> None:
        self.wire.send(WantQuiet())
        answer = self.wire.receive()
        if not isinstance(answer, Quiet):
            raise InfrastructureError(f"no quiet: the host said {type(answer).__name__}")


def run(sock: socket.socket) -> int:
    """Serve the host until it finishes. Returns the exit status."""
    processes.hide_memory()
    wire: HostWire = Wire(sock, AnyTell, limit=TRUSTED_FRAME)
    return serve(wire, HostKeeper(wire))


def serve(wire: HostWire, keeper: Keeper) -> int:
    """Examine what the host asks for, with workers from `keeper`."""
    try:
        begin = wire.receive()
        if not isinstance(begin, Begin):
            return 1
        settings = begin.settings
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // 2))
        facts = device_facts(settings)
        wire.send(facts)
        while True:
            tell = wire.receive()
            if not isinstance(tell, Examine):
                return 0
            seeded = msgspec.structs.replace(settings, seed=tell.seed)
            wire.send(Examined(outcome=_examine(wire, keeper, seeded, tell)))
    except Closed:
        return 0


def _examine(wire: HostWire, keeper: Keeper, settings: RunSettings, tell: Examine) -> bytes:
    started = time.monotonic()
    device = torch.device("cpu")
    if settings.device == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())

    def watch(progress: Progress) -> None:
        wire.send(Told(progress=progress))

    with torch.no_grad():
        examiner = Examiner(keeper, tell.request, settings, device, tell.caches, watch, tell.orders)
        outcome = examiner.examine()
    seconds = round(time.monotonic() - started, 3)
    return msgspec.msgpack.encode(msgspec.structs.replace(outcome, seconds=seconds))


def device_facts(settings: RunSettings) -> Facts:
    """What this process sees of its device; it touches CUDA where CUDA was asked for."""
    versions = {"torch": str(torch.__version__)}
    for name in ("triton", "cuda-bindings"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if settings.device == "cpu":
        return Facts(name="cpu", architecture="", versions=versions)
    if not torch.cuda.is_available():
        return Facts(name="", architecture="", versions=versions, error="torch sees no CUDA device")
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        return Facts(name="", architecture="", versions=versions, error=reason)
    major, minor = torch.cuda.get_device_capability()
    versions["cuda"] = torch.version.cuda or ""
    versions["driver"] = driver.installed_version()
    return Facts(
        name=torch.cuda.get_device_name(),
        architecture=f"sm{major}{minor}",
        versions=versions,
        devices=tuple(_seen(index) for index in range(torch.cuda.device_count())),
    )


def _seen(index: int) -> SeenDevice:
    """A device by its properties, which are had without a context on it."""
    properties = torch.cuda.get_device_properties(index)
    return SeenDevice(
        name=properties.name,
        architecture=f"sm{properties.major}{properties.minor}",
        memory=properties.total_memory >> 20,
    )
