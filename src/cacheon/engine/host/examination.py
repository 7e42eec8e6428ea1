"""An examination: the zygote, its graders, and the variants that are put before them.

On a GPU the two orders of a course are walked side by side, each by a grader of its own;
elsewhere one grader walks both.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import msgspec

from cacheon.engine import processes
from cacheon.engine.host.believing import disbelieved
from cacheon.engine.host.guarding import Guard, Noted
from cacheon.engine.host.losses import (
    NOT_THERE,
    End,
    Fallen,
    Tampered,
    condemned,
    killed_for_memory,
    rule_of,
    undecided,
)
from cacheon.engine.host.seats import Lost, Seat
from cacheon.engine.host.staff import Staff
from cacheon.engine.host.supervisor import GRACE, LOOKS
from cacheon.engine.joining import joined
from cacheon.engine.outcome import ORDERS, Stage, VariantOutcome
from cacheon.engine.protocol import (
    AnyAsk,
    Closed,
    EndWorker,
    Examine,
    Examined,
    Facts,
    Garbled,
    Located,
    LocateWorkers,
    Quiet,
    Spawned,
    SpawnWorker,
    Told,
    TooSlow,
    WantQuiet,
)
from cacheon.engine.removing import remove
from cacheon.engine.request import DeviceFacts, Progress, RunSettings, VariantRequest
from cacheon.engine.seeds import another
from cacheon.records.errors import DeviceMissing, InfrastructureError


def _nobody(_: Progress) -> None:
    """Nobody watches."""


class Examination(Staff):
    """Owns zygote and grader for all bundles of a command.

    Use it as a context manager: on leaving it, every process that it started is gone.
    Where this process is killed, its own directory is removed all the same, and those that
    the settings name as scratch."""

    def __init__(self, settings: RunSettings, watch: Callable[[Progress], None] = _nobody) -> None:
        super().__init__(settings)
        self.watch = watch
        self._last = False
        self._handed_out = False
        """Whether a worker, and so perhaps a candidate, is there in this attempt."""
        self._guard: Guard | None = None
        self._noted: Noted = {}
        self._was_dumpable = True

    def __enter__(self) -> "Examination":
        self._was_dumpable = processes.set_dumpable(False)
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._shut()
        finally:
            processes.set_dumpable(self._was_dumpable)

    def facts(self) -> DeviceFacts:
        """What the device is. Raises DeviceMissing where CUDA was asked for and is not
        there, InfrastructureError where nothing could be started."""
        seat = self._taken()[0]
        if self._facts is None:
            try:
                said = self._next([seat])[1]
            except Lost as error:
                fallen = self._fallen(error, killed_for_memory())
                raise InfrastructureError(f"the grader did not come up: {fallen}") from error
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
        Raises InfrastructureError where a grader is lost and nobody can be blamed."""
        control = None if request.control is None else Path(request.control.root)
        self._guard = Guard(Path(request.candidate.root), control, self._noted)
        if not self._guard.control_stands():
            raise InfrastructureError(
                f"the control in {control} is not what it was: an earlier candidate changed it; "
                "install cacheon anew, and start again"
            )
        try:
            return self._settled(request, last)
        except Tampered as tampered:
            return condemned(request, self.settings, tampered)
        finally:
            self._guard = None

    def _settled(self, request: VariantRequest, last: bool) -> VariantOutcome:
        """What comes of a variant, however often the examination is lost with it."""
        try:
            return self._once(request, last)
        except Tampered:
            raise
        except Fallen as fallen:
            first = fallen
        if self.side_by_side and request.ranks == 1 and first.outcome is not None:
            # Side by side one order's candidate can disturb the other order's workers, and
            # two orders need twice the memory.
            try:
                outcome = self._once(request, last, in_turn=True, again=True)
            except Tampered:
                raise
            except Fallen as fallen:
                first = fallen
            else:
                return _noted(
                    outcome,
                    f"the orders were walked in turn: side by side, {first.message}",
                )
        if not first.struck or request.control is None:
            return _given_up(first, first.message)
        control = msgspec.structs.replace(request, candidate=request.control, control=None)
        try:
            stood = self._once(control, last)
        except Tampered:
            raise
        except InfrastructureError as error:
            return _given_up(first, f"{first.message}; the control was lost too: {error.message}")
        if stood.word == "FAIL":
            return _given_up(first, f"{first.message}; the control fails too")
        self._renew()
        try:
            outcome = self._once(request, last, again=True)
        except Tampered:
            raise
        except Fallen as fallen:
            if not fallen.struck:
                raise
            return condemned(request, self.settings, fallen)
        return _noted(outcome, f"{first.message}, once and not again")

    def _once(
        self, request: VariantRequest, last: bool, *, in_turn: bool = False, again: bool = False
    ) -> VariantOutcome:
        """One walk of all that was asked for; `again`: on other values. Raises Fallen where
        that decides nothing; there is a fresh fork server then."""
        memory_kills = killed_for_memory()
        caches, seed = "", another(self.settings.seed) if again else self.settings.seed
        self._handed_out = False
        try:
            if not self._has_room():
                # An earlier candidate removed it, or closed it.
                self._shut()
            self.facts()
            # Two groups that spin on the same GPUs would take turns, a time slice each.
            in_turn |= request.ranks > 1
            seats = self._taken()[:1] if in_turn else self._taken()
            shares = [ORDERS] if len(seats) == 1 else [(order,) for order in ORDERS]
            caches = tempfile.mkdtemp(prefix="caches-", dir=self._directory)
            for seat, share in zip(seats, shares, strict=True):
                seat.clear(share)
                seat.wire.send(Examine(request=request, caches=caches, seed=seed, orders=share))
            self._handed_out = self.settings.isolation == "inline"
            self._last = last
            self._serve(seats, request)
            self._must_be_untouched()
            outcome = joined([seat.outcome for seat in seats if seat.outcome is not None])
            outcome = msgspec.structs.replace(outcome, compilers=compilers_in(Path(caches)))
            if reason := undecided(outcome):
                raise Fallen(reason, outcome=outcome)
        except (Lost, Closed, InfrastructureError, OSError) as error:
            raise self._fallen(error, memory_kills) from error
        else:
            return outcome
        finally:
            self._end_workers()
            if caches:
                remove(caches)

    def _must_be_untouched(self) -> None:
        """Raises Tampered where the candidate changed what it must leave alone."""
        if self._guard is not None and (what := self._guard.changed()):
            raise Tampered(what, rule="CG905", stage=self._stage())

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
        supervisor, root = self._running(), str(Path(request.candidate.root))
        match said:
            case SpawnWorker():
                self._must_be_untouched()
                child = self._spare(said.device) or supervisor.fork("worker", said.device)
                self._handed_out = True
                seat.wire.send(Spawned(worker=child.pid), (child.sock.fileno(),))
                child.sock.close()
            case LocateWorkers():
                seat.wire.send(Located(places=supervisor.locate(said.workers, root)))
            case EndWorker():
                grace = 0.0 if said.killed else GRACE
                ended = supervisor.end(said.worker, root=root, hung=said.hung, grace=grace)
                seat.wire.send(ended)
            case WantQuiet():
                seat.wants_quiet = True
            case Told():
                if not self._spares and not self._last:
                    # Not before: what a context and a slab are made with, one holds at a time.
                    self._make_ready()
                seat.done = said.progress.done
                done = sum(each.done for each in seats)
                total = len(seats) * said.progress.total
                self.watch(msgspec.structs.replace(said.progress, done=done, total=total))
            case Examined():
                seat.outcome = self._believed(seat, said.outcome, request)
            case Facts():
                if said.error:
                    raise InfrastructureError(f"a second grader has no device: {said.error}")
            case _:
                raise InfrastructureError(f"the grader said {type(said).__name__}")

    def _believed(self, seat: Seat, said: bytes, request: VariantRequest) -> VariantOutcome:
        """Raises Lost where it is no answer to the request."""
        try:
            outcome = msgspec.msgpack.decode(said, type=VariantOutcome)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Lost(seat, f"it said no outcome: {str(error)[:200]}; ") from error
        if why := disbelieved(outcome, request, self.settings, seat.orders):
            raise Lost(seat, f"it answered another request: {why}; ")
        return outcome

    def _next(self, seats: list[Seat]) -> tuple[Seat, AnyAsk]:
        """The next wish of any of these graders. Raises Lost where one is gone or held by a
        signal, or where none says anything for longer than it may."""
        deadline, held = time.monotonic() + self._patience(), list[Seat]()
        while (left := deadline - time.monotonic()) > 0:
            ready = self._running().pump([seat.wire for seat in seats], min(left, LOOKS))
            for seat in seats:
                if seat.wire in ready:
                    try:
                        return seat, seat.wire.receive(left)
                    except (Closed, Garbled, TooSlow) as error:
                        raise Lost(seat) from error
            before, held = held, [s for s in seats if processes.is_stopped(s.child.pid)]
            for seat in held:
                if seat in before:
                    raise Lost(seat)
        raise Lost((held or seats)[0], f"it said nothing for {self._patience():g} s; ")

    def _patience(self) -> float:
        """Longer than any command that the grader itself waits for."""
        return self.settings.budget.compile + self.settings.budget.command + 120.0

    # --- losses ------------------------------------------------------------------------------

    def _stage(self) -> Stage:
        return "warmup" if any(seat.done for seat in self._seats) else "load"

    def _fallen(self, error: Exception, memory_kills: int) -> Fallen:
        """End what is left, and begin with a fresh fork server; what fell, and which rule
        a candidate that was near broke if it brought that about."""
        inline = self.settings.isolation == "inline"
        stage = self._stage()
        if self._handed_out and self._guard is not None and not isinstance(error, Tampered):
            try:
                self._must_be_untouched()
            except Tampered as tampered:
                error = tampered
            except OSError as trouble:
                error = trouble
        end, server = self._end_of(error)
        self._renew()
        if isinstance(error, Tampered):
            return error
        outcome = error.outcome if isinstance(error, Fallen) else None
        if outcome is not None or (isinstance(error, InfrastructureError) and server is None):
            message = str(error)
        elif server is not None:
            message = f"the fork server was lost: {server.how}"
        elif isinstance(error, OSError):
            message = f"the host could not go on: {error.strerror}"
        else:
            why = error.why if isinstance(error, Lost) else ""
            message = f"the grader was lost: {why}{end.how}"
        if killed_for_memory() > memory_kills:
            message = f"{message}; memory ran out"
        rule = rule_of(server or end, inline=inline) if self._handed_out else ""
        return Fallen(message, rule=rule, stage=stage, outcome=outcome)

    def _end_of(self, error: Exception) -> tuple[End, End | None]:
        """How the grader ended that was lost, and the fork server where it serves no more."""
        if self._supervisor is None:
            return NOT_THERE, None
        if isinstance(error, Fallen) and error.outcome is not None:
            self._dismiss_graders()
        try:
            end = self._drop_graders(error.seat if isinstance(error, Lost) else None)
            return end, self._supervisor.fell()
        except OSError as trouble:
            # Not even the process table can be read.
            return End(f"nobody saw how: {trouble.strerror}"), None


def _noted(outcome: VariantOutcome, note: str) -> VariantOutcome:
    return msgspec.structs.replace(outcome, notes=(*outcome.notes, note))


def _given_up(first: Fallen, message: str) -> VariantOutcome:
    """Nobody can be blamed: what was said all the same. Raises InfrastructureError where
    nothing was."""
    if first.outcome is None:
        raise InfrastructureError(message) from first
    return first.outcome if message == first.message else _noted(first.outcome, message)


def compilers_in(caches: Path) -> tuple[str, ...]:
    """The kinds of compilation that left something in a candidate's private caches."""
    return tuple(
        kind
        for kind, name in (("inductor", "inductor"), ("nvcc", "extensions"), ("triton", "triton"))
        if (caches / name).is_dir() and any((caches / name).iterdir())
    )
