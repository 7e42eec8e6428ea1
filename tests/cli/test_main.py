"""The door: errors are one line and a code, for every verb."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cacheon.cli.main import run
from cacheon.workflows.examples import EXAMPLES

ROOT = Path(__file__).parents[2]
SILU = EXAMPLES / "good" / "torch_silu_and_mul"

Captured = pytest.CaptureFixture[str]


def refused(capsys: Captured, *words: str) -> tuple[int, str]:
    """The exit code and the one line of a command that must fail."""
    code = run(words)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("cacheon: ")
    assert "Traceback" not in err
    return code, err


@pytest.mark.parametrize(
    "words",
    [
        ("frobnicate",),
        ("verify",),
        ("verify", "x", "--frob"),
        ("verify", "x", "--device", "tpu"),
        ("verify", "x", "--dtype", "int8"),
        ("verify", "x", "--seed", "-1"),
        ("verify", "x", "--replays", "0"),
        ("verify", "x", "--timeout", "nan"),
        ("verify", "x", "--format", "yaml"),
        ("verify", "x", "--device", "cpu", "--context", "model"),
        ("verify", "x", "--device", "cpu", "--context", "colour=red"),
        ("verify", "x", "--device", "cpu", "--watch", "--format", "json"),
        ("verify", "x", "--device", "cpu", "--watch"),
        ("verify", "no\x1b[2Jsuch", "--device", "cpu"),
        ("verify", "/dev/null", "--device", "cpu"),
        ("slots", "no.such.slot"),
        ("slots", "norm.rmsnorm", "--format", "xml"),
        ("init", "norm.rmsnorm"),
        ("init", "no.such.slot", "somewhere"),
        ("init", "attention.sdpa", "somewhere", "--template", "triton"),
        ("explain",),
        ("explain", "CG999"),
        ("explain", "CG101", "--list"),
    ],
    ids=lambda words: "_".join(words).replace("/", "."),
)
def test_unusable_input_is_one_line_and_exit_2(words: tuple[str, ...], capsys: Captured) -> None:
    code, line = refused(capsys, *words)
    assert code == 2
    assert "\x1b" not in line


def test_graph_proof_on_a_cpu_is_exit_4(capsys: Captured) -> None:
    code, _ = refused(capsys, "verify", str(SILU), "--device", "cpu", "--require-graph")
    assert code == 4


def test_a_fault_of_ours_is_no_decision_and_keeps_its_cause(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("cacheon.workflows.slots.list_slots", broken)
    code, line = refused(capsys, "slots")
    assert code == 3
    assert "ZeroDivisionError: ours" in line
    monkeypatch.setenv("CACHEON_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run(["slots"])


def test_an_interruption_is_quiet(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cacheon.workflows.slots.list_slots", interrupted)
    assert run(["slots"]) == 130
    assert capsys.readouterr().err.strip() == "cacheon: interrupted"


def test_a_closed_pipe_is_quiet() -> None:
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    done = subprocess.run(
        f"set -o pipefail; {sys.executable} -m cacheon.cli explain --list | head -c 1",
        shell=True,
        executable="/bin/bash",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_slots_lists_and_shows(capsys: Captured) -> None:
    assert run(["slots"]) == 0
    assert capsys.readouterr().out.count("\n") == 12
    for name in ("moe.fused_experts", "attention.msa_prefill_block_score", "attention.sdpa"):
        assert run(["slots", name]) == 0
        assert "tolerance (atol = rtol): bfloat16 0.02" in capsys.readouterr().out
        assert run(["slots", name, "--json"]) == 0
        body = json.loads(capsys.readouterr().out)
        assert body["slot"]["name"] == name
        assert body["cases"]


def test_explain_shows_and_lists(capsys: Captured) -> None:
    assert run(["explain", "cg203"]) == 0
    assert "What to do" in capsys.readouterr().out
    assert run(["explain", "--list", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rules"]) >= 40
    assert run(["explain", "CG203", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "CG203"


def test_explain_knows_the_reason_codes_of_grades(capsys: Captured) -> None:
    assert run(["explain", "failed-replay"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("failed-replay  a case was captured") and "What to do" in shown
    assert run(["explain", "failed-replay", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema"], said["leads"]) == ("cacheon.reason.v1", "FAIL")


def test_slots_says_what_no_shape_can(capsys: Captured) -> None:
    assert run(["slots", "collective.moe_finalize_ar_rmsnorm"]) == 0
    assert "the tokens from T on are padding" in capsys.readouterr().out
    assert run(["slots", "moe.fused_experts"]) == 0
    assert "  prepare: w13 (E, 2I, H) gate then up" in capsys.readouterr().out


@pytest.mark.parametrize("slot", ["activation.silu_and_mul", "moe.fused_experts"])
def test_init_writes_a_bundle_and_never_overwrites(
    slot: str, tmp_path: Path, capsys: Captured
) -> None:
    target = tmp_path / "My bundle!"
    assert run(["init", slot, str(target)]) == 0
    assert "cacheon verify" in capsys.readouterr().out
    assert 'bundle_id = "My-bundle"' in (target / "manifest.toml").read_text()
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    code, line = refused(capsys, "init", slot, str(target))
    assert code == 2
    assert "new or empty" in line
    assert before == {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    (tmp_path / "file").write_text("x")
    assert refused(capsys, "init", slot, str(tmp_path / "file"))[0] == 2
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert refused(capsys, "init", slot, str(tmp_path / "link"))[0] == 2


@pytest.mark.slow
def test_doctor_looks(capsys: Captured) -> None:
    assert run(["doctor", "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert {"python", "torch", "cuda"} <= {check["name"] for check in body["checks"]}
    assert body["numerics"] is True
    assert run(["doctor"]) == 0
    assert "numerics" in capsys.readouterr().out


@pytest.mark.slow
def test_verify_end_to_end_in_every_format(tmp_path: Path) -> None:
    """One real command: two bundles, one of them unusable."""
    for form, needle in (("text", "[NUMERICAL_PASS]"), ("json", '"schema"'), ("junit", "<?xml")):
        words = ["verify", str(SILU), str(tmp_path / "none"), "--device", "cpu", "--format", form]
        done = subprocess.run(
            [sys.executable, "-m", "cacheon.cli", *words, "--soak", "8"],
            env=dict(os.environ, PYTHONPATH=str(ROOT / "src"), OMP_NUM_THREADS="1"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert needle in done.stdout
        assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_nothing_behind(number: int, tmp_path: Path) -> None:
    environment = dict(os.environ, TMPDIR=str(tmp_path), OMP_NUM_THREADS="1")
    command = [sys.executable, "-m", "cacheon.cli", "verify", str(SILU), "--device", "cpu"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("cacheon-snapshots-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [["slots"], ["slots", "--format", "json"], ["--help"], ["verify", "--help"]]
)
def test_what_cannot_be_shown_is_one_line(words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "cacheon.cli", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ended.returncode == 3
    assert ended.stderr == "cacheon: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        (0, 0, ""),
        (1, 2, "cacheon: standard output: expected an open stream, got a closed one\n"),
        (2, 0, ""),
    ],
)
def test_a_closed_stream_is_nobodys_file(closed: int, code: int, said: str) -> None:
    command = f'exec "$0" -m cacheon.cli slots {closed}>&-'
    ended = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (code, said)


def test_a_bare_command_shows_its_verbs_line_by_line(capsys: Captured) -> None:
    assert run([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: cacheon ")
    assert "\n  verify " in err


def test_init_says_a_command_that_can_be_pasted(tmp_path: Path, capsys: Captured) -> None:
    where = tmp_path / "my bundle"
    assert run(["init", "norm.rmsnorm", str(where)]) == 0
    assert f"`cacheon verify '{where}'`" in capsys.readouterr().out
