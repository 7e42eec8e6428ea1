"""The processes of an examination: the fork server, the graders, the workers started ahead."""

import contextlib
import os
import select
import tempfile

from cacheon.engine import processes
from cacheon.engine.host.child import Child
from cacheon.engine.host.losses import NOT_THERE, End, end_of
from cacheon.engine.host.orders import Role
from cacheon.engine.host.seats import Seat
from cacheon.engine.host.signals import put_off
from cacheon.engine.host.supervisor import Supervisor
from cacheon.engine.outcome import ORDERS
from cacheon.engine.protocol import Closed, Facts, Finish
from cacheon.engine.removing import remove
from cacheon.engine.request import RunSettings
from cacheon.records.errors import DeviceMissing, InfrastructureError

_COMES_UP = 10.0
"""Seconds for a worker that is started ahead, before others go on without it."""


class Staff:
    """Starts them where they are not there, and ends them."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.side_by_side = settings.device == "cuda" and settings.isolation == "process"
        self._supervisor: Supervisor | None = None
        self._seats: list[Seat] = []
        self._spares: list[Child] = []
        self._facts: Facts | None = None
        self._directory = ""

    def _start(self) -> None:
        """A zygote with a directory of its own, and nobody forked from it yet."""
        self._seats, self._spares, self._facts = [], [], None
        with put_off():
            self._directory = tempfile.mkdtemp(prefix="cacheon-")
            self._supervisor = Supervisor(
                self.settings.device,
                self._directory,
                *self.settings.scratch,
                triton=self.settings.triton,
            )

    def _has_room(self) -> bool:
        """Whether its own directory is there, and something can be made in it."""
        there = os.path.isdir(self._directory) and not os.path.islink(self._directory)
        return there and os.access(self._directory, os.W_OK | os.X_OK)

    def _shut(self) -> None:
        """End the zygote with everybody that it forked. Nothing cuts this short."""
        with put_off():
            self._end_all()

    def _end_all(self) -> None:
        supervisor, self._supervisor = self._supervisor, None
        for seat in self._seats:
            seat.wire.close()
        self._seats, self._spares = [], []
        try:
            if supervisor is not None:
                supervisor.close()
        finally:
            if self._directory:
                remove(self._directory)
            self._directory = ""

    def _renew(self) -> None:
        """Nothing that a candidate could have changed in the zygote stays. Where no other
        can be started now, that is met when the next one is needed."""
        if self._supervisor is not None and self._supervisor.is_fresh():
            return
        self._shut()
        with contextlib.suppress(OSError):
            self._start()

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise InfrastructureError("the examination has not begun")
        return self._supervisor

    def _taken(self) -> list[Seat]:
        """The graders, started where they are not there."""
        if not self._seats:
            if self._supervisor is None:
                self._start()
            elif self._supervisor.fell() is not None:
                self._renew()
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

    def _dismiss_graders(self) -> None:
        """Tell them to leave by themselves."""
        for seat in self._seats:
            with contextlib.suppress(Closed):
                seat.wire.send(Finish())

    def _drop_graders(self, culprit: Seat | None = None) -> End:
        """End the graders; the next examination gets fresh ones. How the culprit, or else
        the first, ended."""
        seats, self._seats = self._seats, []
        end = NOT_THERE
        for seat in seats:
            stopped = processes.is_stopped(seat.child.pid)
            try:
                ended = self._running().end(seat.child.pid)
            except InfrastructureError:
                # Without a fork server it has ended too, and nobody saw how.
                continue
            finally:
                seat.wire.close()
            if seat is (culprit or seats[0]):
                end = end_of(ended, stopped=stopped)
        return end

    def _guests(self) -> list[int]:
        """The workers that were handed out."""
        if self._supervisor is None:
            return []
        own = {child.pid for child in (*self._spares, *(seat.child for seat in self._seats))}
        return [pid for pid in self._supervisor.children if pid not in own]

    def _spare(self, device: int = 0) -> Child | None:
        """A worker that was started ahead and still lives: a candidate of the other order
        could have killed it. They are all on the first GPU."""
        while self._spares and device == 0:
            child = self._spares.pop(0)
            if not processes.is_gone(child.pid):
                return child
            self._running().end(child.pid)
        return None

    def _end_workers(self) -> None:
        for pid in self._guests():
            with contextlib.suppress(InfrastructureError):
                self._running().end(pid)
