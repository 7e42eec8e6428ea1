"""Whole examinations on a CPU, by candidates that fight the examination itself."""

import os
import resource
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.engine.course.runs import MARK, left_behind
from tests.engine.host.bundles import HONEST, SEED, request
from tests.engine.host.guests import alive, gone, litter, number_in

from cacheon.engine.host import examination as under_test
from cacheon.engine.host import guarding
from cacheon.engine.host.examination import Examination
from cacheon.engine.host.supervisor import ANSWERS_WITHIN
from cacheon.engine.outcome import CaseRow, VariantOutcome
from cacheon.engine.request import Budget, Isolation, RunSettings
from cacheon.records.errors import InfrastructureError

pytestmark = pytest.mark.slow


def settings(isolation: Isolation = "process") -> RunSettings:
    return RunSettings(
        device="cpu",
        seed=SEED,
        replays=2,
        soak=4,
        isolation=isolation,
        budget=Budget(command=5.0, compile=10.0),
    )


def resources() -> tuple[set[str], set[str]]:
    """Descriptors of this process, and files for a time."""
    return set(os.listdir("/proc/self/fd")), litter()


@pytest.fixture
def own(tmp_path: Path, own_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For a test with an examination of its own: no process, no descriptor, no file
    outlives it."""
    monkeypatch.setenv(MARK, str(tmp_path))
    before = resources()
    yield
    assert not left_behind(str(tmp_path))
    assert resources() == before


@pytest.fixture(scope="module")
def examination(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examination]:
    """One examination, which outlives every candidate that is not `own`, and leaves nothing."""
    place = str(tmp_path_factory.mktemp("shared"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, place)
        patch.setenv("TMPDIR", place)
        patch.setattr(tempfile, "tempdir", None)
        before = resources()
        with Examination(settings()) as one:
            yield one
        assert not left_behind(place)
        assert resources() == before


def only(outcome: VariantOutcome) -> CaseRow:
    (row,) = outcome.rows
    return row


def passes(outcome: VariantOutcome) -> bool:
    return (outcome.word, outcome.rehearsal) == ("NUMERICAL_PASS", "passed")


@pytest.mark.usefixtures("own")
def test_an_honest_candidate_passes_and_nothing_is_left(tmp_path: Path) -> None:
    with Examination(settings()) as examination:
        examination.facts()
        outcome = examination.examine(request(tmp_path / "a"))
        supervisor = examination._running()
        pids = [supervisor.process.pid, *supervisor.children]
        directory = Path(examination._directory)
        assert not list(directory.iterdir())
    assert passes(outcome), outcome
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)
    assert not directory.exists()


# --- the grader is struck ------------------------------------------------------------------------

STRIKES = {
    "the grader, at load": (
        "",
        "strike(kin())",
        "load",
        "the grader was lost: it died by signal 9",
    ),
    "the grader, later": (
        "    if once('called'):\n        return\n    strike(kin())\n",
        "",
        "warmup",
        "the grader was lost: it died by signal 9",
    ),
    "another way": (
        "",
        "strike(kin(), signal.SIGSEGV)",
        "load",
        "the grader was lost: it died by signal 11",
    ),
    "the fork server": (
        "",
        "stray()\nstrike([os.getppid()])",
        "load",
        "the fork server was lost: it died by signal 9",
    ),
    "the fork server, gently": (
        "",
        "strike([os.getppid()], signal.SIGTERM)",
        "load",
        "the fork server was lost: it died by signal 15",
    ),
}


@pytest.mark.parametrize("strike", STRIKES)
def test_a_candidate_that_strikes_down_the_examination_fails(
    examination: Examination, tmp_path: Path, strike: str
) -> None:
    body, top, stage, words = STRIKES[strike]
    outcome = examination.examine(request(tmp_path / "bad", body or HONEST, top, graph=False))
    row = only(outcome)
    assert (outcome.word, row.status, row.failure, row.stage) == ("FAIL", "fail", "eager", stage)
    assert row.findings[0].rule == "CG905"
    assert row.findings[0].message == f"{words}, twice, and not with the control"
    if "stray" in top:
        assert gone(number_in(tmp_path / "bad.stray"))
    # Others are examined as if nothing had been.
    assert passes(examination.examine(request(tmp_path / "good")))


def test_a_candidate_that_strikes_once_is_examined_again(
    examination: Examination, tmp_path: Path
) -> None:
    outcome = examination.examine(request(tmp_path / "a", top="if once():\n    strike(kin())"))
    assert passes(outcome)
    assert outcome.notes[-1] == "the grader was lost: it died by signal 9, once and not again"


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("whom", ["kin()", "[os.getppid()]"])
def test_one_that_stops_them_fails_too(tmp_path: Path, whom: str) -> None:
    """However long they might take for an answer, they are not waited for."""
    started = time.monotonic()
    brief = msgspec.structs.replace(settings(), budget=Budget(command=2.0, compile=2.0))
    bad = request(tmp_path / "bad", top=f"strike({whom}, signal.SIGSTOP)", graph=False)
    with Examination(brief) as examination:
        row = only(examination.examine(bad))
        assert (row.status, row.findings[0].rule) == ("fail", "CG905")
        assert "stopped by a signal" in row.findings[0].message
    assert time.monotonic() - started < ANSWERS_WITHIN


# --- it is nobody's fault, or not the candidate's ------------------------------------------------


class Striker:
    """Strikes down every grader of an examination, whoever is being examined."""

    def __init__(self, examination: Examination) -> None:
        self.examination, self.over, self.struck = examination, False, 0
        self.thread = threading.Thread(target=self._strike)
        self.thread.start()

    def _strike(self) -> None:
        done = set[int]()
        while not self.over:
            for seat in list(self.examination._seats):
                # Only once a worker is there.
                if seat.child.pid not in done and self.examination._guests():
                    done.add(seat.child.pid)
                    os.kill(seat.child.pid, signal.SIGKILL)
                    self.struck += 1
            time.sleep(0.005)

    def stop(self) -> None:
        self.over = True
        self.thread.join()


def test_where_the_control_is_lost_too_nothing_is_decided(
    examination: Examination, tmp_path: Path
) -> None:
    striker = Striker(examination)
    try:
        with pytest.raises(InfrastructureError, match="the control was lost too: the grader"):
            examination.examine(request(tmp_path / "a", graph=False))
    finally:
        striker.stop()
    assert striker.struck == 2
    assert passes(examination.examine(request(tmp_path / "b")))


def test_without_a_control_nothing_is_decided(examination: Examination, tmp_path: Path) -> None:
    asked = request(tmp_path / "a", top="strike(kin())", graph=False)
    with pytest.raises(InfrastructureError, match="the grader was lost: it died by signal 9"):
        examination.examine(msgspec.structs.replace(asked, control=None))


def test_memory_that_runs_out_with_the_candidate_only_is_its_fault(
    examination: Examination, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter(range(100))
    monkeypatch.setattr(under_test, "killed_for_memory", lambda: next(kills))
    row = only(examination.examine(request(tmp_path / "a", top="strike(kin())", graph=False)))
    assert (row.status, row.findings[0].rule) == ("fail", "CG905")
    assert "died by signal 9; memory ran out, twice" in row.findings[0].message


# --- whatever way it is lost ---------------------------------------------------------------------

LIMIT = "import resource\nresource.prlimit({}, resource.RLIMIT_NOFILE, (3, 3))\n"
LOSSES = {
    "a grader that can open nothing": (
        "import resource\n[resource.prlimit(pid, resource.RLIMIT_AS, (1, 1)) for pid in kin()]\n"
        "[resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)) for pid in kin()]\n"
        "raise ValueError\n"
    ),
    "a fork server that can open nothing": LIMIT.format("os.getppid()") + "os._exit(1)\n",
    "a fork server that can allocate nothing": (
        "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_AS, (1, 1))\nos._exit(1)\n"
    ),
    "no directory, and no grader": (
        "import shutil\nshutil.rmtree(Path(os.environ['TRITON_CACHE_DIR']).parents[1])\n"
        "strike(kin())\n"
    ),
    "an excuse": (
        "import cacheon.engine.worker.backends.recording as r\n"
        "exec(compile('def fail(): raise RuntimeError', r.__path__[0] + '/recorder.py', 'exec'))\n"
        "fail()\n"
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_losing_pays_in_no_way(examination: Examination, tmp_path: Path, loss: str) -> None:
    outcome = examination.examine(request(tmp_path / "bad", top=LOSSES[loss], graph=False))
    assert (outcome.word, only(outcome).status) == ("FAIL", "fail"), outcome
    assert passes(examination.examine(request(tmp_path / "good")))


def test_limits_of_the_host_are_seen_and_set_back(examination: Examination, tmp_path: Path) -> None:
    before = guarding.limits()

    def lower(_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, before[resource.RLIMIT_FSIZE][1]))

    examination.watch = lower
    row = only(examination.examine(request(tmp_path / "bad", graph=False)))
    examination.watch = under_test._nobody
    assert (row.status, row.findings[0].rule) == ("fail", "CG905")
    assert row.findings[0].message == "the limits of the host's process were changed"
    assert guarding.limits() == before
    assert passes(examination.examine(request(tmp_path / "good")))


@pytest.mark.parametrize(
    "change",
    [
        "Path(__file__).write_text('')",
        "Path(__file__).with_name('more.py').write_text('')",
        "Path(__file__).chmod(0o777)",
        "Path(__file__).unlink()",
        "dig(Path(__file__).parent, 'd' * 200, 30)",
        "dig(Path(__file__).parent, 'd' * 200, 30)\nstrike(kin())",
    ],
)
def test_a_snapshot_that_is_changed_condemns(
    examination: Examination, tmp_path: Path, change: str
) -> None:
    row = only(examination.examine(request(tmp_path / "bad", top=change, graph=False)))
    assert (row.status, row.findings[0].rule) == ("fail", "CG905")
    assert row.findings[0].message == "the snapshot was changed"


@pytest.mark.parametrize("then", ["", "room.touch()", "room.symlink_to('/')", "room.mkdir(0)"])
def test_a_directory_that_an_earlier_candidate_removed_is_made_anew(
    examination: Examination, tmp_path: Path, then: str
) -> None:
    top = (
        "import shutil\nroom = Path(os.environ['TRITON_CACHE_DIR']).parents[1]\n"
        f"if once():\n    shutil.rmtree(room, True)\n    {then or 'pass'}\n"
    )
    assert passes(examination.examine(request(tmp_path / "a", top=top)))
    assert passes(examination.examine(request(tmp_path / "b")))


@pytest.mark.parametrize("then", ["strike(kin())", "raise ValueError"])
def test_a_control_that_is_changed_condemns(
    examination: Examination, tmp_path: Path, then: str
) -> None:
    """It would have failed, or been lost, beside a candidate that does."""
    top = f"(beside('control') / 'kernels' / 'silu_and_mul.py').write_text('raise')\n{then}\n"
    asked = request(tmp_path / "bad", top=top, graph=False)
    assert asked.control is not None
    copy = shutil.copytree(asked.control.root, tmp_path / "bad.control")
    control = msgspec.structs.replace(asked.control, root=str(copy))
    outcome = examination.examine(msgspec.structs.replace(asked, control=control))
    row = only(outcome)
    assert (outcome.word, row.status, row.findings[0].rule) == ("FAIL", "fail", "CG905")
    assert row.findings[0].message == "the control was changed"
    assert passes(examination.examine(request(tmp_path / "good")))


def test_what_one_variant_changed_fails_the_next(examination: Examination, tmp_path: Path) -> None:
    """It would be examined on other bytes than those of its digest."""
    asked = request(tmp_path / "a")
    assert passes(examination.examine(asked))
    with (Path(asked.candidate.root) / "kernels" / "silu_and_mul.py").open("a") as source:
        source.write("# better\n")
    row = only(examination.examine(asked))
    assert (row.status, row.findings[0].rule) == ("fail", "CG905")
    assert row.findings[0].message == "the snapshot was changed"


def test_a_control_that_was_changed_before_decides_nothing(
    examination: Examination, tmp_path: Path
) -> None:
    first, second = (request(tmp_path / name) for name in "ab")
    assert first.control is not None
    copy = shutil.copytree(first.control.root, tmp_path / "control")
    control = msgspec.structs.replace(first.control, root=str(copy))
    first, second = (msgspec.structs.replace(each, control=control) for each in (first, second))
    assert passes(examination.examine(first))
    (copy / "kernels" / "silu_and_mul.py").write_text("raise")
    with pytest.raises(InfrastructureError, match="is not what it was: an earlier candidate"):
        examination.examine(second)


@pytest.mark.parametrize(("name", "depth"), [("'d'", 3000), ("'d' * 200", 30)])
def test_no_depth_of_its_caches_is_too_much(
    examination: Examination, tmp_path: Path, name: str, depth: int
) -> None:
    """The host removes them, and once ran out of stack there."""
    top = f"if once():\n    dig(Path(os.environ['TRITON_CACHE_DIR']).parent, {name}, {depth})\n"
    assert passes(examination.examine(request(tmp_path / "a", top=top)))


def test_a_grader_that_dies_with_no_candidate_near_is_nobodys_fault(
    examination: Examination, tmp_path: Path
) -> None:
    examination.facts()
    os.kill(examination._seats[0].child.pid, signal.SIGKILL)
    with pytest.raises(InfrastructureError, match="the grader was lost: it died by signal 9"):
        examination.examine(request(tmp_path / "a", graph=False))
    assert passes(examination.examine(request(tmp_path / "b")))


def test_a_fork_server_that_dies_between_two_bundles_is_replaced(
    examination: Examination, tmp_path: Path
) -> None:
    examination.facts()
    examination._drop_graders()
    server = examination._running().process.pid
    os.kill(server, signal.SIGKILL)
    assert gone(server)
    assert passes(examination.examine(request(tmp_path / "a")))


@pytest.mark.usefixtures("own")
def test_a_grader_that_cannot_begin_is_infrastructure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.modules['cacheon.engine.grader'] = None\n"
    )
    words = r"did not come up.*left with status 70"
    with Examination(settings()) as examination, pytest.raises(InfrastructureError, match=words):
        examination.facts()


@pytest.mark.usefixtures("own")
def test_workers_that_were_started_ahead_must_still_live() -> None:
    with Examination(settings()) as examination:
        examination.side_by_side = True
        examination.facts()
        first, second = [child.pid for child in examination._spares]
        os.kill(first, signal.SIGKILL)
        assert gone(first)
        spare = examination._spare()
        assert spare is not None
        assert spare.pid == second
        spare.sock.close()
        assert first not in examination._running().children
        assert examination._spare() is None


# --- workers -------------------------------------------------------------------------------------

Ways = dict[str, tuple[str, str, str]]
WORKERS: Ways = {
    "writes into its channel": ("os.write(3, b'\\0\\0\\0\\2hi')", "CG903", "load"),
    "sends descriptors": (
        "import socket\nchannel = socket.socket(fileno=os.dup(3))\n"
        "for _ in range(300):\n"
        "    socket.send_fds(channel, [b'\\0\\0\\0\\1\\xc0'], [0, 0, 0, 0])",
        "CG903",
        "load",
    ),
    "exits": ("os._exit(0)", "CG902", "load"),
    "dies": ("os.kill(os.getpid(), signal.SIGSEGV)", "CG901", "load"),
}


@pytest.mark.parametrize("way", WORKERS)
def test_a_worker_that_is_lost_fails_its_case(
    examination: Examination, tmp_path: Path, way: str
) -> None:
    top, rule, stage = WORKERS[way]
    row = only(examination.examine(request(tmp_path / "a", top=top, graph=False)))
    assert (row.status, row.findings[0].rule, row.stage) == ("fail", rule, stage)


def test_a_step_of_the_harness_that_is_refused_fails_its_case(
    examination: Examination, tmp_path: Path
) -> None:
    """The grader once fell over it, and with it fell what it had found until then."""
    top = "import gc\ndef refuse(*_):\n    raise ValueError('not now')\ngc.collect = refuse\n"
    outcome = examination.examine(request(tmp_path / "a", top=top))
    row = only(outcome)
    assert (row.status, row.failure, row.stage) == ("fail", "replay", "perturb")
    assert row.findings[0].message == "ValueError: not now"
    assert not any("lost" in note for note in (*outcome.notes, *row.notes))


# --- inline --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("top", "rule", "words"),
    [
        ("os._exit(0)", "CG902", "it left with status 0"),
        ("os.abort()", "CG901", "it died by signal 6"),
    ],
)
def test_inline_a_candidate_that_ends_its_process_fails(
    tmp_path: Path, top: str, rule: str, words: str
) -> None:
    with Examination(settings("inline")) as examination:
        row = only(examination.examine(request(tmp_path / "bad", top=top, graph=False)))
        assert (row.status, row.findings[0].rule) == ("fail", rule)
        assert words in row.findings[0].message
        assert passes(examination.examine(request(tmp_path / "good")))


# --- the host leaves -----------------------------------------------------------------------------


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_leaving_in_the_middle_ends_everything(tmp_path: Path, error: type[BaseException]) -> None:
    pids: list[int] = []

    def watch(_: object) -> None:
        supervisor = examination._running()
        pids.extend([supervisor.process.pid, *supervisor.children])
        raise error

    with pytest.raises(error), Examination(settings(), watch) as examination:
        examination.examine(request(tmp_path / "a"))
    assert len(pids) == 3
    assert not any(alive(pid) for pid in pids)
