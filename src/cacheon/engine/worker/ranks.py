"""The group that a worker is one rank of: made by us, before any candidate is loaded.

What the candidate calls on a group is noted in the ledger as it calls, by a method or as an
operator, and what a graph cannot hold is refused at its line: groups that come and go in the
entry, barriers under capture. All of it stands in this process, beside the candidate, and
decides nothing.
"""

import contextlib
import datetime
import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Backend, FileStore
from torch.distributed import distributed_c10d as core

from cacheon.engine.ledger import Ledger
from cacheon.engine.protocol import JoinGroup
from cacheon.engine.worker import packets
from cacheon.engine.worker.backends.port import Failure
from cacheon.engine.worker.collectives import (
    BARRIERS,
    NAMES,
    among,
    carried_out,
    described,
    described_operator,
    operator_name,
)
from cacheon.engine.worker.waits import Waits

Moment = Literal["load", "warm", "call", "capture"]
"""What the candidate's code is running for."""

_PATIENCE = datetime.timedelta(days=1)
"""The grader's watchdog decides what hangs, and says more of it than the group would."""
_ENDS = ("destroy_process_group", "_abort_process_group", "shrink_group")


class Ranks:
    """`group` is what the entry is given. `first`: what was refused first, also where the
    candidate caught it."""

    def __init__(self, command: JoinGroup, ledger: Ledger, device: torch.device) -> None:
        self.rank, self.world, self.skew = command.rank, command.world, command.skew
        self.ledger, self.device = ledger, device
        self.moment: Moment = "load"
        self.first: Failure | None = None
        self.barriers = Waits()
        """Lines of the candidate that met in a barrier in an eager call that is judged."""
        self.group = self._join(command.meeting)
        self._watch()

    def during(self, moment: Moment) -> None:
        """A command begins; what the candidate may do depends on what it is for."""
        self.moment, self.first = moment, None
        self.barriers.places.clear()
        self.ledger.clear()

    def settle(self) -> None:
        """Raise what was refused during the command."""
        if self.first is not None:
            raise self.first

    def noted(self, entry: Callable[..., object]) -> Callable[..., object]:
        """The entry, its calls told apart in the ledger."""

        @functools.wraps(entry)
        def call(*arguments: object) -> object:
            try:
                return entry(*arguments)
            finally:
                self.ledger.next_call()

        return call

    def _join(self, meeting: str) -> dist.ProcessGroup:
        """Meet the other ranks, and see that a sum comes out right: what fails from here on
        is not the network's first word. Raises what torch does."""
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
        # Its watchdog thread would end a process that hangs before the grader has asked why.
        os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"
        os.environ["TORCH_NCCL_ENABLE_MONITORING"] = "0"
        on_gpu = self.device.type == "cuda"
        dist.init_process_group(
            "nccl" if on_gpu else "gloo",
            store=FileStore(meeting, self.world),
            rank=self.rank,
            world_size=self.world,
            timeout=_PATIENCE,
            device_id=self.device if on_gpu else None,
        )
        told = torch.full((1,), self.rank + 1, dtype=torch.int64, device=self.device)
        dist.all_reduce(told)
        if int(told.item()) != self.world * (self.world + 1) // 2:
            raise RuntimeError(f"the ranks' numbers sum to {int(told.item())}")
        group = dist.group.WORLD
        if group is None:
            raise RuntimeError("the group that was made is not there")
        return group

    # --- what the candidate does with groups --------------------------------------------

    def _watch(self) -> None:
        """From now on, for the life of the process."""
        kinds: tuple[Any, ...] = (dist.ProcessGroup, Backend)
        for kind in kinds:
            for method in (*NAMES, *BARRIERS):
                if hasattr(kind, method):
                    setattr(kind, method, self._noting(getattr(kind, method), method))
            for method in ("shutdown", "abort"):
                if hasattr(kind, method):
                    refusing = self._refusing(f"`{method}` of a group in the candidate")
                    setattr(kind, method, refusing)
        packets.watch(self._around)
        for owner in (dist, core):
            for name in _ENDS:
                if hasattr(owner, name):
                    setattr(owner, name, self._refusing(f"`{name}` in the candidate"))
        made: Any = core
        for owner, name in ((made, "_new_process_group_helper"), (kinds[0], "split_group")):
            if hasattr(owner, name):
                setattr(owner, name, self._unless_called(getattr(owner, name)))

    def _noting(self, function: Callable[..., object], name: str) -> Callable[..., object]:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> object:
            if name not in BARRIERS and not carried_out(arguments[1:], keywords):
                return function(*arguments, **keywords)
            words = among(arguments[0].size(), described(name, arguments[1:], keywords))
            with self._begun(words, name):
                return function(*arguments, **keywords)

        return call

    def _around(
        self,
        operator: torch._ops.OpOverload,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> AbstractContextManager[object]:
        name = operator_name(operator)
        # Where a dispatch mode stands it is asked first, and calls again what it wants done.
        asked = torch._C._len_torch_dispatch_stack() > 0 and name not in BARRIERS
        if asked or not carried_out(arguments, keywords):
            return contextlib.nullcontext()
        return self._begun(described_operator(operator, arguments, keywords), name)

    def _begun(self, words: str, name: str) -> AbstractContextManager[object]:
        """What a collective is called within. Raises Failure CG105 for a barrier under
        capture."""
        noting = self.ledger.noting(words)
        if name in BARRIERS:
            if self.moment == "capture":
                # Its rank is noted to have come there all the same.
                with noting:
                    raise self._refuse("CG105", f"`{name}` waits on the host")
            if self.moment == "call":
                self.barriers.note()
        return noting

    def _unless_called(self, function: Callable[..., object]) -> Callable[..., object]:
        """A group made in the first calls is kept for the life of the process; one made in
        a call that serving makes again and again is a fault."""

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> object:
            if self.moment in ("call", "capture"):
                raise self._refuse("CG601", "a process group is created in the entry")
            return function(*arguments, **keywords)

        return call

    def _refusing(self, message: str) -> Callable[..., object]:
        def call(*arguments: object, **keywords: object) -> object:
            raise self._refuse("CG601", message)

        return call

    def _refuse(self, rule: str, message: str) -> Failure:
        failure = Failure(rule, message)
        self.first = self.first or failure
        return failure
