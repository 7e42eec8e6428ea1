"""An examination: the zygote, its graders, and the variants that are put before them.

On a GPU the two orders of a course are walked side by side, each by a grader of its own;
elsewhere one grader walks both.
"""

import contextlib
import select
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import msgspec

from cacheon.engine.host.orders import Role
from cacheon.engine.host.supervisor import Child, Supervisor
from cacheon.engine.joining import joined
from cacheon.engine.outcome import ORDERS, VariantOutcome
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
    Finish,
    Garbled,
    Quiet,
    Spawned,
    SpawnWorker,
    Told,
    WantQuiet,
    Wire,
)
from cacheon.engine.request import DeviceFacts, Progress, RunSettings, VariantRequest
from cacheon.records.errors import DeviceMissing, InfrastructureError

_COMES_UP = 10.0
"""Seconds for a worker that is started ahead, before others go on without it."""

GraderWire = Wire[AnyTell, AnyAsk]


def _nobody(_: Progress) -> None:
    """Nobody watches."""


class Lost(Exception):
    """A grader that can answer no more."""

    def __init__(self, seat: "Seat") -> None:
        super().__init__()
        self.seat = seat


class Seat:
    """A grader, and how far it is with the variant before it."""

    def __init__(self, child: Child, settings: RunSettings) -> None:
        self.child = child
        self.wire: GraderWire = Wire(child.sock, AnyAsk, limit=TRUSTED_FRAME)
        self.wire.send(Begin(settings=settings))
        self.clear()

    def clear(self) -> None:
        """Nothing is before it."""
        self.outcome: VariantOutcome | None = None
        self.wants_quiet = False
        self.done = 0


class Examination:
    """Owns zygote and grader for all bundles of a command.

    Use it as a context manager: on leaving it, every process that it started is gone."""

    def __init__(self, settings: RunSettings, watch: Callable[[Progress], None] = _nobody) -> None:
        self.settings, self.watch = settings, watch
        self._supervisor: Supervisor | None = None
        self._seats: list[Seat] = []
        self._facts: Facts | None = None
        self._spares: list[Child] = []
        self._last = False
        self.side_by_side = settings.device == "cuda" and settings.isolation == "process"
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
            for seat in self._seats:
                with contextlib.suppress(Closed):
                    seat.wire.send(Finish())
            self._drop_graders()
        finally:
            if self._supervisor is not None:
                self._supervisor.close()
            shutil.rmtree(self._directory, ignore_errors=True)

    def facts(self) -> DeviceFacts:
        """What the device is. Raises DeviceMissing where CUDA was asked for and is not
        there, InfrastructureError where nothing could be started."""
        seat = self._taken()[0]
        if self._facts is None:
            try:
                said = self._next([seat])[1]
            except Lost as error:
                how = self._drop_graders(seat)
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
            driver=facts.versions.get("driver", ""),
            triton=facts.versions.get("triton", ""),
            cuda_bindings=facts.versions.get("cuda-bindings", ""),
            devices=facts.devices,
        )

    def reseed(self, settings: RunSettings) -> None:
        """Take another seed for what is examined from now on; nothing else may differ."""
        self.settings = msgspec.structs.replace(self.settings, seed=settings.seed)

    def examine(self, request: VariantRequest, *, last: bool = False) -> VariantOutcome:
        """Examine one variant. `last`: none follows, and nothing is made ready for it.
        Raises InfrastructureError where a grader is lost."""
        self.facts()
        caches = tempfile.mkdtemp(prefix="caches-", dir=self._directory)
        seats = self._taken()
        shares = [ORDERS] if len(seats) == 1 else [(order,) for order in ORDERS]
        seed = self.settings.seed
        try:
            for seat, share in zip(seats, shares, strict=True):
                seat.clear()
                seat.wire.send(Examine(request=request, caches=caches, seed=seed, orders=share))
            self._last = last
            self._serve(seats, request)
            outcome = joined([seat.outcome for seat in seats if seat.outcome is not None])
            return msgspec.structs.replace(outcome, compilers=compilers_in(Path(caches)))
        except (Lost, Closed) as error:
            how = self._drop_graders(error.seat if isinstance(error, Lost) else None)
            raise InfrastructureError(f"the grader was lost: {how}") from error
        finally:
            self._end_workers()
            shutil.rmtree(caches, ignore_errors=True)

    # --- the graders' wishes ---------------------------------------------------------------

    def _serve(self, seats: list[Seat], request: VariantRequest) -> None:
        """Until every grader has its outcome."""
        while busy := [seat for seat in seats if seat.outcome is None]:
            self._do(seats, *self._next(busy), request)
            busy = [seat for seat in busy if seat.outcome is None]
            if busy and all(seat.wants_quiet for seat in busy):
                self._wait_for_spares()
                busy[0].wants_quiet = False
                busy[0].wire.send(Quiet())

    def _do(self, seats: list[Seat], seat: Seat, said: AnyAsk, request: VariantRequest) -> None:
        """What one of the graders wishes."""
        supervisor = self._running()
        match said:
            case SpawnWorker():
                child = self._spares.pop(0) if self._spares else supervisor.fork("worker")
                seat.wire.send(Spawned(worker=child.pid), (child.sock.fileno(),))
                child.sock.close()
                if not self._spares and not self._last:
                    self._make_ready()
            case EndWorker():
                root = str(Path(request.candidate.root))
                seat.wire.send(supervisor.end(said.worker, root=root, hung=said.hung))
            case WantQuiet():
                seat.wants_quiet = True
            case Told():
                seat.done = said.progress.done
                done = sum(each.done for each in seats)
                total = len(seats) * said.progress.total
                self.watch(msgspec.structs.replace(said.progress, done=done, total=total))
            case Examined():
                seat.outcome = msgspec.msgpack.decode(said.outcome, type=VariantOutcome)
            case Facts():
                if said.error:
                    raise InfrastructureError(f"a second grader has no device: {said.error}")
            case _:
                raise InfrastructureError(f"the grader said {type(said).__name__}")

    def _next(self, seats: list[Seat]) -> tuple[Seat, AnyAsk]:
        """The next wish of any of these graders. Raises Lost where one is gone,
        InfrastructureError where none says anything for longer than it may."""
        seconds = self._patience()
        ready = self._running().pump([seat.wire for seat in seats], seconds)
        for seat in seats:
            if seat.wire in ready:
                try:
                    return seat, seat.wire.receive(seconds)
                except (Closed, Garbled) as error:
                    raise Lost(seat) from error
        how = self._drop_graders(seats[0])
        raise InfrastructureError(f"the grader said nothing for {seconds:g} s: {how}")

    def _patience(self) -> float:
        """Longer than any command that the grader itself waits for."""
        return self.settings.budget.compile + self.settings.budget.command + 120.0

    # --- processes ---------------------------------------------------------------------------

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise InfrastructureError("the examination has not begun")
        return self._supervisor

    def _taken(self) -> list[Seat]:
        """The graders, started where they are not there."""
        if not self._seats:
            supervisor = self._running()
            if "torch" in supervisor.ready().missing:
                raise DeviceMissing(
                    place="torch",
                    expected="an installed torch (pip install 'cacheon[engine]')",
                    got="none",
                )
            role: Role = "inline" if self.settings.isolation == "inline" else "grader"
            self._facts = None
            for _ in range(len(ORDERS) if self.side_by_side else 1):
                self._seats.append(Seat(supervisor.fork(role), self.settings))
            self._make_ready()
        return self._seats

    def _make_ready(self) -> None:
        """On a GPU workers are started before they are asked for: a device context takes
        its time."""
        while self.side_by_side and len(self._spares) < len(ORDERS):
            self._spares.append(self._running().fork("worker"))

    def _wait_for_spares(self) -> None:
        """Until those that are started ahead have their contexts: memory must not climb by
        them while it is measured. One that never says so is seen when it is used."""
        for child in self._spares:
            select.select([child.sock], [], [], _COMES_UP)

    def _drop_graders(self, culprit: Seat | None = None) -> str:
        """End the graders; the next examination gets fresh ones. How the culprit, or else
        the first, ended."""
        seats, self._seats = self._seats, []
        how = "it was not there"
        for seat in seats:
            ended = self._running().end(seat.child.pid)
            seat.wire.close()
            if seat is (culprit or seats[0]):
                how = _how(ended)
        return how

    def _end_workers(self) -> None:
        supervisor = self._running()
        for pid in list(supervisor.children):
            kept = {child.pid for child in (*self._spares, *(seat.child for seat in self._seats))}
            if pid not in kept:
                with contextlib.suppress(InfrastructureError):
                    supervisor.end(pid)


def compilers_in(caches: Path) -> tuple[str, ...]:
    """The kinds of compilation that left something in a candidate's private caches."""
    return tuple(
        kind
        for kind, name in (("inductor", "inductor"), ("nvcc", "extensions"), ("triton", "triton"))
        if (caches / name).is_dir() and any((caches / name).iterdir())
    )


def _how(ended: Ended) -> str:
    """How a grader ended, in words."""
    if ended.killed:
        return "it had to be killed"
    last = ended.output.strip().splitlines()
    said = f"; it said: {last[-1][:300]}" if last else ""
    if ended.signal >= 0:
        return f"it died by signal {ended.signal}{said}"
    return f"it left with status {ended.status}{said}"
