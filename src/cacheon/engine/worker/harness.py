"""The harness around the candidate: loads it, calls it, answers the grader.

It decides nothing. Every answer it gives after `Load` may be a lie, and the grader treats
it so; what counts is what stands in the slab.
"""

import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from cacheon.engine.ledger import Ledger
from cacheon.engine.plan import CallPlan, WorkerPlan
from cacheon.engine.protocol import (
    AnyCommand,
    AnyReply,
    Arrange,
    Call,
    Capture,
    Disturb,
    Done,
    JoinGroup,
    Load,
    MakeSlab,
    Prepare,
    Raised,
    Recapture,
    Replay,
    Warm,
    Where,
)
from cacheon.engine.slab import Slab
from cacheon.engine.worker.backends.port import Backend, Bound, Entry, Failure
from cacheon.engine.worker.blame import blame, first_line, is_ours
from cacheon.engine.worker.compilers import Compilers
from cacheon.engine.worker.demands import demands_cuda
from cacheon.engine.worker.keeping import keeping

if TYPE_CHECKING:
    from cacheon.engine.worker.ranks import Moment, Ranks

_MOMENTS: "dict[type, Moment]" = {
    Prepare: "warm",
    Warm: "warm",
    Call: "call",
    Capture: "capture",
    Recapture: "capture",
}
"""What a rank's candidate runs for, by command."""


class Unready(RuntimeError):
    """A command that came before what it needs."""


class Harness:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.root = ""
        self._slab: Slab | None = None
        self._plan: WorkerPlan | None = None
        self._entry: Entry | None = None
        self._prepare: Entry | None = None
        self._prepared: dict[int, object] = {}
        self.compilers = Compilers()
        self.memfd = -1
        """Of the slab, set before the command that makes it; -1 where nobody shares it."""
        self.ledger: Ledger | None = None
        """Set before the command that makes this worker a rank of a group."""
        self._ranks: Ranks | None = None

    def handle(self, command: AnyCommand) -> AnyReply:
        """Carry out one command. An exception of any kind becomes `Raised`: a candidate
        may raise SystemExit or its own BaseException."""
        try:
            with torch.no_grad():
                return self._carry_out(command)
        except BaseException as error:
            recorded = isinstance(command, Warm | Capture | Recapture | Replay)
            return self._raised(error, recorded)

    def _carry_out(self, command: AnyCommand) -> AnyReply:
        if self._ranks is None:
            return self._answer(command)
        self._ranks.during(_MOMENTS.get(type(command), "load"))
        reply = self._answer(command)
        self._ranks.settle()
        return reply

    def _answer(self, command: AnyCommand) -> AnyReply:
        match command:
            case MakeSlab():
                if command.starts:
                    made = self.backend.make_pieces(command.nbytes, command.starts)
                    self._slab, handles = made
                    return Done(handles=handles)
                self._slab, handle = self.backend.make_slab(command.nbytes, self.memfd)
                return Done(handle=handle)
            case Arrange():
                self._plan = command.plan
                self.backend.arrange(self.slab, command.plan.counter)
            case JoinGroup():
                self._join(command)
            case Load():
                self._load(command)
            case Prepare():
                self._prepare_weights(command.index)
            case Warm():
                calls = self.plan.cases[command.case].warm
                self.backend.warm([self._bind(call) for call in calls], self.entry)
                return Done(waits=tuple(self.backend.waits.places))
            case Call():
                call = self._call_plan(command)
                returned = self.backend.eager(
                    self._bind(call), self.entry, command.times, command.delay
                )
                return Done(returned=returned, waits=self._barriers())
            case Capture():
                calls = self.plan.cases[command.case].captured
                bound = [self._bind(call) for call in calls]
                self.compilers.told()
                seen = self.backend.capture(command.case, bound, self.entry, command.sibling)
                return Done(
                    compiled=self.compilers.told(),
                    nodes=seen.nodes,
                    kinds=seen.kinds,
                    suspicious=seen.suspicious,
                    steps=seen.steps,
                )
            case Recapture():
                calls = self.plan.cases[command.case].captured
                bound = [self._bind(call) for call in calls]
                self.backend.recapture(bound, self.entry, command.times)
            case Replay():
                self.backend.replay(command.case, command.times)
            case Disturb():
                self._disturb(command)
            case _:
                raise Unready(f"no answer to {type(command).__name__}")
        return Done()

    @property
    def slab(self) -> Slab:
        if self._slab is None:
            raise Unready("there is no slab yet")
        return self._slab

    @property
    def plan(self) -> WorkerPlan:
        if self._plan is None:
            raise Unready("there is no plan yet")
        return self._plan

    @property
    def entry(self) -> Entry:
        if self._entry is None:
            raise Unready("no candidate is loaded")
        entry = keeping(self._entry, self.plan.entry)
        return entry if self._ranks is None else self._ranks.noted(entry)

    def _call_plan(self, command: Call) -> CallPlan:
        if command.which >= 0:
            return self.plan.cases[command.case].eager[command.which]
        if self.plan.larger is None:
            raise Unready("the plan has no larger call")
        return self.plan.larger

    def _bind(self, call: CallPlan) -> Bound:
        slab, names, prepared = self.slab, self.plan.entry, self._prepared
        group = self._ranks.group if self._ranks else None

        def arguments() -> list[object]:
            values: list[object] = []
            for name in names:
                if name == "prepared":
                    values.append(prepared[call.prepared])
                elif name == "group":
                    values.append(group)
                elif name in call.tensors:
                    values.append(slab.tensor(call.tensors[name]))
                else:
                    values.append(call.scalars[name])
            return values

        return Bound(call, arguments)

    def _join(self, command: JoinGroup) -> None:
        # Imported by ranks only: it takes its time, and one process has no group.
        from cacheon.engine.worker.ranks import Ranks

        if self.ledger is None:
            raise Unready("a rank has no ledger")
        self._ranks = Ranks(command, self.ledger, self.backend.device)
        self.backend.join(command.rank, command.skew, self.ledger)

    def _load(self, command: Load) -> None:
        candidate = command.candidate
        self.root = self.backend.waits.root = candidate.root
        if self._ranks is not None:
            self._ranks.barriers.root = candidate.root
        keep_compilers_private(Path(command.caches))
        self.compilers.listen()
        module = import_source(Path(candidate.root), candidate.source)
        self._entry = attribute(module, candidate.entry)
        if candidate.prepare:
            self._prepare = attribute(module, candidate.prepare)

    def _barriers(self) -> tuple[Where, ...]:
        return tuple(self._ranks.barriers.places) if self._ranks is not None else ()

    def _prepare_weights(self, index: int) -> None:
        if self._prepare is None:
            raise Failure("CG801", "the slot prepares its weights, and the row names no `prepare`")
        weights = self.plan.prepares[index]
        self._prepared[index] = self._prepare(
            *(self.slab.tensor(weights[name]) for name in self.plan.prepare)
        )

    def _disturb(self, command: Disturb) -> None:
        steps = {
            "collect": self.backend.collect,
            "siblings": self.backend.drop_siblings,
            "refill": self.backend.refill,
            "inspect": self.backend.inspect,
            "release": self.backend.release,
        }
        steps[command.step]()

    def _raised(self, error: BaseException, recorded: bool) -> Raised:
        lost = self.backend.is_lost(error)
        culprit, where = blame(error, self.root) if self.root else (error, None)
        failure = culprit if isinstance(culprit, Failure) else None
        return Raised(
            kind="" if failure else type(culprit).__name__[:300],
            message=first_line(culprit),
            where=where,
            rule=failure.rule if failure else "",
            needs_cuda=failure.needs_cuda if failure else demands_cuda(culprit, self.root),
            sticky=lost,
            at_end=culprit is error and where is None,
            ours=failure is None and recorded and is_ours(culprit),
        )


def keep_compilers_private(caches: Path) -> None:
    """Send what compilers keep to a directory of this candidate's own, shared by its two
    orders: nothing is found there that another candidate, or an earlier run, left."""
    for variable, name in (
        ("TRITON_CACHE_DIR", "triton"),
        ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
        ("TORCH_EXTENSIONS_DIR", "extensions"),
        ("CUDA_CACHE_PATH", "cuda"),
    ):
        os.environ[variable] = str(caches / name)


class _Source(SourceFileLoader):
    """Runs what the file says, and no bytecode that somebody has laid beside it."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def import_source(root: Path, source: str) -> ModuleType:
    """Run a source file of the snapshot as a module of its own name."""
    for directory in (str(root), str((root / source).parent)):
        # Behind everything else: a bundle must not shadow the standard library.
        if directory not in sys.path:
            sys.path.append(directory)
    name = f"cacheon_candidate_{Path(source).stem}"
    file = root / source
    spec = importlib.util.spec_from_file_location(name, file, loader=_Source(name, str(file)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is no Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def attribute(module: ModuleType, name: str) -> Entry:
    value: Any = getattr(module, name, None)
    if not callable(value):
        raise Failure("CG806", f"`{name}` is not a callable of the module once it has run")
    found: Entry = value
    return found
