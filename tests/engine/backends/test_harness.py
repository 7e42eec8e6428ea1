"""The harness over each backend: commands in, replies out, and who is blamed."""

import py_compile
import sys
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path

import pytest
import torch
from tests.engine.backends.entries import affine
from tests.engine.backends.rig import ROWS, Rig

from cacheon.engine.plan import CasePlan, WorkerPlan
from cacheon.engine.protocol import (
    AnyCommand,
    AnyReply,
    Arrange,
    Call,
    Capture,
    Disturb,
    Done,
    Load,
    MakeSlab,
    Prepare,
    Raised,
    Recapture,
    Replay,
    Stop,
    Warm,
)
from cacheon.engine.request import Candidate
from cacheon.engine.slab import Slab
from cacheon.engine.worker.backends.port import Backend
from cacheon.engine.worker.harness import Harness

GOOD = "import torch\ndef entry(x, out):\n    torch.add(torch.mul(x, 2.0), 1.0, out=out)\n"


UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH


class Through:
    """Makes a rig's slab by commands; the plan is sent once the rig is laid out."""

    name = "harness"

    def __init__(self, harness: Harness) -> None:
        self.harness = harness

    def make_slab(self, nbytes: int, memfd: int) -> tuple[Slab, bytes]:
        self.harness.memfd = memfd
        done = self.harness.handle(MakeSlab(nbytes=nbytes))
        assert isinstance(done, Done)
        return self.harness.slab, done.handle

    def arrange(self, slab: Slab, counter: int) -> None:
        self.counter = counter


class Arranged:
    """A harness with two cases arranged, and a candidate in a directory of its own."""

    def __init__(self, backend: Backend, root: Path) -> None:
        self.harness, self.root = Harness(backend), root
        through = Through(self.harness)
        self.rig = Rig(through, [1024, 256])  # type: ignore[arg-type]
        cases = tuple(
            CasePlan(warm=plans, eager=plans[:2], captured=plans)
            for plans in (tuple(place.plan for place in places) for places in self.rig.places)
        )
        plan = WorkerPlan(
            entry=("x", "out"),
            prepare=(),
            counter=through.counter,
            cases=cases,
            larger=None,
            prepares=(),
        )
        assert self.say(Arrange(plan=plan)) == Done()

    def say(self, command: AnyCommand) -> AnyReply:
        return self.harness.handle(command)

    def load(self, source: str, entry: str = "entry", prepare: str = "") -> AnyReply:
        file = f"kernel_{len(list(self.root.iterdir()))}.py"
        (self.root / file).write_text(source)
        candidate = Candidate(root=str(self.root), source=file, entry=entry, prepare=prepare)
        return self.say(Load(candidate=candidate, caches=str(self.root.parent / "caches")))

    def raised(self, command: AnyCommand) -> Raised:
        reply = self.say(command)
        assert isinstance(reply, Raised)
        return reply


@pytest.fixture
def arranged(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arranged:
    """What a harness does to its process is undone in the end."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("CUDA_CACHE_PATH", "")
    (tmp_path / "bundle").mkdir()
    return Arranged(backend, tmp_path / "bundle")


def test_a_whole_course_by_commands(arranged: Arranged) -> None:
    rig = arranged.rig
    assert arranged.load(GOOD) == Done()
    for case in (0, 1):
        assert arranged.say(Warm(case=case)) == Done()
        assert arranged.say(Call(case=case, which=1)) == Done()
        assert rig.answered(case, 1, 0, affine)
        seen = arranged.say(Capture(case=case))
        assert isinstance(seen, Done)
        assert all(nodes > 0 for nodes in seen.nodes)
    assert isinstance(arranged.say(Capture(case=0, sibling=True)), Done)
    for step in ("collect", "siblings", "refill"):
        assert arranged.say(Disturb(step=step)) == Done()
    for case in (1, 0):
        rig.refresh(case)
        assert arranged.say(Replay(case=case, times=ROWS)) == Done()
        assert rig.all_answered(case, range(ROWS), affine)
    assert arranged.say(Recapture(case=1, times=2)) == Done()
    assert arranged.say(Disturb(step="inspect")) == Done()
    assert arranged.say(Disturb(step="release")) == Done()


@pytest.mark.parametrize("command", [Warm(case=0), Call(case=0, which=0), Capture(case=0)])
def test_a_command_before_its_time_is_an_answer(arranged: Arranged, command: AnyCommand) -> None:
    reply = arranged.raised(command)
    assert (reply.kind, reply.where, reply.sticky) == ("Unready", None, False)


def test_a_harness_without_slab_or_plan_says_so(backend: Backend) -> None:
    harness = Harness(backend)
    for command in (Warm(case=0), Prepare(index=0), Stop()):
        reply = harness.handle(command)
        assert isinstance(reply, Raised)
        assert reply.kind == "Unready" or reply.rule == "CG801"


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("import no_such_module\n", "ModuleNotFoundError", 1),
        ("x = 1\ndef (\n", "SyntaxError", 2),
        ("import sys\n\nsys.exit(3)\n", "SystemExit", 3),
        ("class Odd(BaseException):\n    pass\nraise Odd\n", "Odd", 3),
        ("def f():\n    return f()\nf()\n", "RecursionError", 2),
        ("class Mute(Exception):\n    def __str__(self):\n        1 / 0\nraise Mute\n", "Mute", 4),
    ],
)
def test_a_source_that_does_not_load(arranged: Arranged, source: str, kind: str, line: int) -> None:
    reply = arranged.load(source)
    assert isinstance(reply, Raised)
    assert reply.kind == kind
    assert reply.where is not None
    assert (reply.where.file, reply.where.line) == ("kernel_0.py", line)
    assert not reply.sticky
    assert not reply.ours


def test_bytecode_beside_a_source_is_not_loaded(arranged: Arranged, tmp_path: Path) -> None:
    """Another process may have laid it there, and nobody looks at it."""
    source, other = arranged.root / "kernel_0.py", tmp_path / "other.py"
    other.write_text("1 / 0\n")
    laid = Path(cache_from_source(str(source)))
    py_compile.compile(str(other), str(laid), invalidation_mode=UNCHECKED, doraise=True)
    (arranged.root / "kernel_0.py").write_text("def entry(x, out):\n    pass\n")
    candidate = Candidate(root=str(arranged.root), source="kernel_0.py", entry="entry", prepare="")
    assert arranged.say(Load(candidate=candidate, caches=str(tmp_path / "caches"))) == Done()


def test_an_entry_that_is_not_there(arranged: Arranged) -> None:
    reply = arranged.load("entry = 3\n")
    assert isinstance(reply, Raised)
    assert (reply.rule, reply.kind) == ("CG806", "")


def test_a_slot_that_prepares_nothing_has_no_weights_to_prepare(arranged: Arranged) -> None:
    arranged.load(GOOD)
    assert arranged.raised(Prepare(index=0)).rule == "CG801"


LINES: dict[str, tuple[str, str]] = {
    "python": ("raise KeyError('k')", "KeyError"),
    "shapes": ("torch.add(x, torch.zeros(3, device=x.device))", "RuntimeError"),
    "argument": ("torch.mul(x, 'two')", "TypeError"),
    "keyword": ("torch.mul(x, 2.0, no_such=1)", "TypeError"),
    "factory": ("torch.empty('four')", "TypeError"),
    "method": ("x.view(3, 5)", "RuntimeError"),
    "function": ("torch.nn.functional.softmax(x, dim=9)", "IndexError"),
    "index": ("x[0, 0]", "IndexError"),
}


@pytest.mark.parametrize("stage", ["call", "capture"])
@pytest.mark.parametrize("fault", LINES)
def test_what_the_candidate_did_wrong_is_at_its_line(
    arranged: Arranged, stage: str, fault: str
) -> None:
    line, kind = LINES[fault]
    arranged.load(f"import torch\ndef entry(x, out):\n    out.copy_(x)\n    {line}\n")
    commands: dict[str, AnyCommand] = {
        "call": Call(case=0, which=0),
        "capture": Capture(case=0),
    }
    reply = arranged.raised(commands[stage])
    assert reply.kind == kind
    assert reply.where is not None
    assert (reply.where.line, reply.where.source) == (4, line)
    assert not reply.ours
    assert not reply.sticky


@pytest.mark.parametrize("stage", ["call", "capture"])
def test_an_entry_with_other_arguments_is_the_candidates_fault(
    arranged: Arranged, stage: str
) -> None:
    arranged.load("def entry(x):\n    return x\n")
    commands: dict[str, AnyCommand] = {"call": Call(case=0, which=0), "capture": Capture(case=0)}
    reply = arranged.raised(commands[stage])
    assert reply.kind == "TypeError"
    assert not reply.ours


# --- rehearsal alone: it has code of its own between the candidate and torch -----------------


RECORDER = "cacheon.engine.worker.backends.recording"


@pytest.mark.parametrize("make", ["rehearsal"], indirect=True)
@pytest.mark.parametrize("broken", ["tape.View.of", "tape.Tape._lay_into", "recorder.storage_key"])
def test_what_the_recorder_did_wrong_is_not_the_candidates(
    arranged: Arranged, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    arranged.load(GOOD)
    assert arranged.say(Warm(case=0)) == Done()
    with monkeypatch.context() as patch:
        patch.setattr(f"{RECORDER}.{broken}", None)
        reply = arranged.raised(Capture(case=0))
    assert reply.ours
    assert (reply.kind, reply.rule) == ("TypeError", "")
    assert isinstance(arranged.say(Capture(case=0)), Done)


@pytest.mark.parametrize("make", ["rehearsal"], indirect=True)
def test_a_custom_operator_that_raises_is_the_candidates(arranged: Arranged) -> None:
    arranged.load(
        "import torch\n"
        "@torch.library.custom_op('cacheon_test::odd', mutates_args=('out',))\n"
        "def odd(x: torch.Tensor, out: torch.Tensor) -> None:\n"
        "    raise ValueError('odd')\n"
        "def entry(x, out):\n"
        "    odd(x, out)\n"
    )
    reply = arranged.raised(Capture(case=0))
    assert (reply.kind, reply.ours) == ("ValueError", False)
    assert reply.where is not None
    assert reply.where.line == 4


@pytest.mark.parametrize("make", ["rehearsal"], indirect=True)
def test_what_needs_a_gpu_is_no_failure(arranged: Arranged) -> None:
    arranged.load("import torch\ndef entry(x, out):\n    out.copy_(x.cuda())\n")
    commands: tuple[Callable[[], Raised], ...] = (
        lambda: arranged.raised(Warm(case=0)),
        lambda: arranged.raised(Capture(case=0)),
    )
    for raised in commands:
        reply = raised()
        assert reply.needs_cuda
        assert (reply.rule, reply.ours) == ("CG807", False)


def test_gradients_are_off_and_come_back(arranged: Arranged) -> None:
    arranged.load("import torch\ndef entry(x, out):\n    assert not torch.is_grad_enabled()\n")
    assert arranged.say(Call(case=0, which=0)) == Done()
    assert torch.is_grad_enabled()
