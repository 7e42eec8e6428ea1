"""An examination: the zygote, one grader, and the variants that are put before it."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import msgspec

from cacheon.engine.host.supervisor import Child, Supervisor
from cacheon.engine.outcome import VariantOutcome
from cacheon.engine.protocol import (
    TRUSTED_FRAME,
    AnyAsk,
    AnyTell,
    Begin,
    Closed,
    EndWorker,
    Examine,
    Examined,
    Facts,
    Finish,
    Garbled,
    Spawned,
    SpawnWorker,
    Told,
    Wire,
)
from cacheon.engine.request import DeviceFacts, Progress, RunSettings, VariantRequest
from cacheon.records.errors import DeviceMissing, InfrastructureError

GraderWire = Wire[AnyTell, AnyAsk]


def _nobody(_: Progress) -> None:
    """Nobody watches."""


class Examination:
    """Owns zygote and grader for all bundles of a command.

    Use it as a context manager: on leaving it, every process that it started is gone."""

    def __init__(self, settings: RunSettings, watch: Callable[[Progress], None] = _nobody) -> None:
        self.settings, self.watch = settings, watch
        self._supervisor: Supervisor | None = None
        self._grader: Child | None = None
        self._wire: GraderWire | None = None
        self._facts: Facts | None = None
        self._spare: Child | None = None
        self._directory = ""

    def __enter__(self) -> "Examination":
        self._directory = tempfile.mkdtemp(prefix="cacheon-")
        self._supervisor = Supervisor(self.settings.device)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._wire is not None:
                with contextlib.suppress(Closed):
                    self._wire.send(Finish())
            self._drop_grader()
        finally:
            if self._supervisor is not None:
                self._supervisor.close()
            shutil.rmtree(self._directory, ignore_errors=True)

    def facts(self) -> DeviceFacts:
        """What the device is. Raises DeviceMissing where CUDA was asked for and is not
        there, InfrastructureError where nothing could be started."""
        wire = self._grader_wire()
        if self._facts is None:
            try:
                said = self._next(wire, self._patience())
            except (Closed, Garbled) as error:
                how = self._drop_grader()
                raise InfrastructureError(f"the grader did not come up: {how}") from error
            if not isinstance(said, Facts):
                raise InfrastructureError(f"the grader said {type(said).__name__} first")
            self._facts = said
        facts = self._facts
        if facts.error:
            raise DeviceMissing(
                place="--device", expected="a CUDA device that torch can use", got=facts.error
            )
        return DeviceFacts(
            device=self.settings.device,
            name=facts.name,
            architecture=facts.architecture,
            torch=facts.versions.get("torch", ""),
            cuda=facts.versions.get("cuda", ""),
            triton=facts.versions.get("triton", ""),
            cuda_bindings=facts.versions.get("cuda-bindings", ""),
        )

    def reseed(self, settings: RunSettings) -> None:
        """Take another seed for what is examined from now on; nothing else may differ."""
        self.settings = msgspec.structs.replace(self.settings, seed=settings.seed)

    def examine(self, request: VariantRequest) -> VariantOutcome:
        """Examine one variant. Raises InfrastructureError where the grader is lost."""
        self.facts()
        wire = self._grader_wire()
        caches = tempfile.mkdtemp(prefix="caches-", dir=self._directory)
        try:
            seed = self.settings.seed
            wire.send(Examine(request=request, caches=caches, seed=seed))
            return self._serve(wire, request)
        except (Closed, Garbled) as error:
            how = self._drop_grader()
            raise InfrastructureError(f"the grader was lost: {how}") from error
        finally:
            self._end_workers()
            shutil.rmtree(caches, ignore_errors=True)

    # --- the grader's wishes ---------------------------------------------------------------

    def _serve(self, wire: GraderWire, request: VariantRequest) -> VariantOutcome:
        supervisor = self._running()
        while True:
            said = self._next(wire, self._patience())
            match said:
                case SpawnWorker():
                    child = self._worker()
                    wire.send(Spawned(worker=child.pid), (child.sock.fileno(),))
                    child.sock.close()
                case EndWorker():
                    root = str(Path(request.candidate.root))
                    wire.send(supervisor.end(said.worker, root=root, hung=said.hung))
                case Told():
                    self.watch(said.progress)
                case Examined():
                    return msgspec.msgpack.decode(said.outcome, type=VariantOutcome)
                case _:
                    raise InfrastructureError(f"the grader said {type(said).__name__}")

    def _worker(self) -> Child:
        """A worker; on a GPU one that was started before, while a context took its time."""
        supervisor = self._running()
        child, self._spare = self._spare or supervisor.fork("worker"), None
        if self.settings.device == "cuda" and self.settings.isolation == "process":
            self._spare = supervisor.fork("worker")
        return child

    def _next(self, wire: GraderWire, seconds: float) -> AnyAsk:
        if not self._running().pump(wire, seconds):
            how = self._drop_grader()
            raise InfrastructureError(f"the grader said nothing for {seconds:g} s: {how}")
        return wire.receive(seconds)

    def _patience(self) -> float:
        """Longer than any command that the grader itself waits for."""
        return self.settings.budget.compile + self.settings.budget.command + 120.0

    # --- processes ---------------------------------------------------------------------------

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise InfrastructureError("the examination has not begun")
        return self._supervisor

    def _grader_wire(self) -> GraderWire:
        if self._wire is None:
            supervisor = self._running()
            missing = supervisor.ready().missing
            if "torch" in missing:
                raise DeviceMissing(
                    place="torch",
                    expected="an installed torch (pip install 'cacheon[engine]')",
                    got="none",
                )
            inline = self.settings.isolation == "inline"
            self._grader = supervisor.fork("inline" if inline else "grader")
            self._wire = Wire(self._grader.sock, AnyAsk, limit=TRUSTED_FRAME)
            self._wire.send(Begin(settings=self.settings))
            if self.settings.device == "cuda" and not inline and self._spare is None:
                self._spare = supervisor.fork("worker")
            self._facts = None
        return self._wire

    def _drop_grader(self) -> str:
        """End the grader; the next examination gets a fresh one. How it ended."""
        if self._grader is None or self._wire is None:
            return "it was not there"
        ended = self._running().end(self._grader.pid)
        self._wire.close()
        self._grader = self._wire = None
        if ended.killed:
            return "it had to be killed"
        last = ended.output.strip().splitlines()
        said = f"; it said: {last[-1][:300]}" if last else ""
        if ended.signal >= 0:
            return f"it died by signal {ended.signal}{said}"
        return f"it left with status {ended.status}{said}"

    def _end_workers(self) -> None:
        supervisor = self._running()
        for pid in list(supervisor.children):
            kept = [child.pid for child in (self._grader, self._spare) if child is not None]
            if pid not in kept:
                with contextlib.suppress(InfrastructureError):
                    supervisor.end(pid)
