"""The asking half at the door: arenas, the machine, the requirement."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workflows.fake import FakeExamination

from cacheon.cli.main import run
from cacheon.contract.arenas import arena_names, shipped_arena
from cacheon.engine.request import DeviceFacts, RunSettings, SeenDevice
from cacheon.evidence.keys import PREFIX, Key
from cacheon.evidence.launch import DeviceIdentity, Launch
from cacheon.evidence.requirement import Requirement
from cacheon.records.canonical import decode, encode
from cacheon.records.digest import sha256
from cacheon.records.errors import InfrastructureError, InputError
from cacheon.workflows.examples import EXAMPLES
from cacheon.workflows.launch import launch

ROOT = Path(__file__).parents[2]
RMS = EXAMPLES / "good" / "torch_rmsnorm"
KEY = Key(bytes(32)).public.removeprefix(PREFIX)
Captured = pytest.CaptureFixture[str]
H200 = SeenDevice(name="NVIDIA H200", architecture="sm90", memory=143771)


# --- arena ---------------------------------------------------------------------------------


def test_arenas_are_listed(capsys: Captured) -> None:
    assert run(["arena", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(arena_names())
    assert run(["arena", "list", "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.arenas.v1"
    assert [each["arena"]["name"] for each in body["arenas"]] == list(arena_names())
    assert body["arenas"][0]["digest"] == shipped_arena("h200-decode").digest


def test_a_target_is_shown_in_every_arena_that_holds_it(capsys: Captured) -> None:
    assert run(["arena", "show", "attention.msa_prefill_block_score"]) == 0
    out = capsys.readouterr().out
    for name in ("h200-decode", "h200-decode-float16", "rehearsal-cpu"):
        assert f"{name}  version 1" in out
    assert "h200-tp2" not in out
    assert "graph_mode = eager in a descriptor exempts nobody" in out
    assert "graph_mode=eager, its live binding of today" in out
    assert "captured and replayed all the same" in out
    assert out.count("num_tokens=16 kv_len=1591 head_dim=128 block_size=128") == 1
    assert "at best NO_DECISION" in out
    assert "none pinned" in out


def test_an_arena_is_shown_with_every_target(capsys: Captured) -> None:
    assert run(["arena", "show", "h200-tp2"]) == 0
    out = capsys.readouterr().out
    for target in shipped_arena("h200-tp2").arena.targets:
        assert f"\n{target}" in out
    assert "collective.moe_epilogue.v1  every member must pass" in out
    assert "exp_tokens=1..8192" in out


def test_what_is_shown_as_json_holds_the_same(capsys: Captured) -> None:
    assert run(["arena", "show", "norm.rmsnorm", "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.arena.v1"
    (member,) = body["outlooks"][0]["targets"][0]["members"]
    assert member["slot"] == "norm.rmsnorm"
    assert member["limits"]["num_tokens"] == [1, 8192]
    assert "batch_size" not in member["limits"]
    assert len(member["calls"]) == 6
    assert len(member["contract"]) == 64


MINE = """
name = "mine"
version = 2
targets = ["norm.rmsnorm"]
device = "cpu"
graph_required = false
replays = 4
soak = 0
work_budget = 10000
quorum = 1
context = { architecture = "sm90", dtype = "float32", quant = "fp8" }
bounds.fp8 = { tolerance = 0.05, row_error = 0.05 }
[[observers]]
name = "one"
key = "KEY"
""".replace("KEY", KEY)


def test_an_arena_of_ones_own_is_checked_and_shown(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "arena.toml"
    file.write_text(MINE)
    assert run(["arena", "check", str(file)]) == 0
    out = capsys.readouterr().out
    assert sha256(file.read_bytes()) in out
    assert "graphs      not required" in out
    assert f"one {KEY[:12]}…" in out
    assert "compilation none is approved" in out
    assert "quant=fp8" in out
    assert "fp8: tolerance 0.05, row_error 0.05" in out
    assert "published only: examinations apply the slot's numbers" in out
    assert "no requirement is written here: it is this arena's own quant" in out
    assert run(["arena", "check", str(file), "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["outlooks"][0]["published"]["arena"]["name"] == "mine"
    assert run(["arena", "show", str(file)]) == 0
    assert "open ends   ask for nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["arena", "show", "nosuch"], "expected a target, a .toml file, or one of h200-decode"),
        (["arena", "show", "no.toml"], "no.toml: expected a readable file"),
        (["arena", "show", "no\0such.toml"], "got no path"),
        (
            ["arena", "check", "/dev/zero"],
            "/dev/zero: not-a-file: expected a regular file, got a device",
        ),
        (["arena"], "Missing command"),
        (["arena", "frob"], "No such command"),
    ],
)
def test_what_is_no_arena_is_one_line(words: list[str], line: str, capsys: Captured) -> None:
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert line in err


# --- launch ----------------------------------------------------------------------------------


class Machine(FakeExamination):
    """An examination on a machine with the devices of the class."""

    devices: tuple[SeenDevice, ...] = (H200, H200)

    def facts(self) -> DeviceFacts:
        return DeviceFacts(
            device="cuda",
            name="NVIDIA H200",
            architecture="sm90",
            torch="2.11.0",
            cuda="13.0",
            driver="580.95",
            devices=self.devices,
        )


def test_a_launch_names_devices_and_versions() -> None:
    seen: list[RunSettings] = []

    def start(settings: RunSettings, watch: object) -> Machine:
        seen.append(settings)
        return Machine(settings, lambda _: None)

    found = launch("cuda", start=start)
    assert found.device == "cuda"
    assert (
        found.devices
        == (DeviceIdentity(name="NVIDIA H200", architecture="sm90", memory=143771),) * 2
    )
    assert (found.torch, found.cuda, found.driver, found.triton) == ("2.11.0", "13.0", "580.95", "")
    assert found.python == ".".join(map(str, sys.version_info[:3]))
    assert seen[0].isolation == "inline"
    assert decode(encode(found), Launch) == found


@pytest.mark.parametrize(
    ("devices", "error", "line"),
    [
        (
            (H200, SeenDevice(name="NVIDIA A100", architecture="sm80", memory=1)),
            InputError,
            "got NVIDIA H200 (sm90, 143771 MiB) beside NVIDIA A100 (sm80, 1 MiB)",
        ),
        ((), InfrastructureError, "names none"),
    ],
)
def test_devices_that_differ_are_refused(
    devices: tuple[SeenDevice, ...], error: type[Exception], line: str
) -> None:
    class Mixed(Machine):
        pass

    Mixed.devices = devices
    with pytest.raises(error) as caught:
        launch("cuda", start=lambda settings, watch: Mixed(settings, watch))
    assert line in str(caught.value)


@pytest.mark.slow
def test_a_cpu_is_described_in_a_new_file(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "launch.json"
    assert run(["launch", "--device", "cpu", "--output", str(file)]) == 0
    assert "1 × cpu, torch " in capsys.readouterr().out
    found = decode(file.read_bytes(), Launch)
    assert found.devices == (DeviceIdentity(name="cpu", architecture="", memory=0),)
    assert found.torch
    assert str(tmp_path) not in file.read_text()
    # Nothing is ever overwritten.
    assert run(["launch", "--device", "cpu", "--output", str(file)]) == 2
    assert "expected a new file, got File exists" in capsys.readouterr().err


@pytest.mark.slow
def test_without_a_file_standard_output_holds_the_record_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cacheon.cli", "launch", "--device", "cpu"],
        capture_output=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
        check=True,
    )
    assert decode(done.stdout, Launch).device == "cpu"


# --- require ---------------------------------------------------------------------------------


@pytest.fixture
def gpu_launch(tmp_path: Path) -> Path:
    file = tmp_path / "gpu.json"
    file.write_bytes(encode(launch("cuda", start=lambda s, w: Machine(s, w))))
    return file


@pytest.fixture
def cpu_launch(tmp_path: Path, gpu_launch: Path) -> Path:
    file = tmp_path / "cpu.json"
    said = json.loads(gpu_launch.read_bytes())
    said |= {"device": "cpu", "devices": [{"architecture": "", "memory": 0, "name": "cpu"}]}
    file.write_bytes(encode(said))
    return file


def words(bundle: Path, launched: Path, arena: str = "h200-decode", *more: str) -> list[str]:
    return [
        "require",
        "norm.rmsnorm",
        *("--bundle", str(bundle)),
        *("--arena", arena),
        *("--launch", str(launched)),
        *("--observer", f"me={KEY}"),
        *more,
    ]


def test_a_requirement_is_written(gpu_launch: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "r.json"
    assert run(words(RMS, gpu_launch, "h200-decode", "--output", str(file))) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"requirement {sha256(file.read_bytes())}" in out
    assert "norm.rmsnorm variant=default cases=6/6 domain=covered" in out
    found = decode(file.read_bytes(), Requirement)
    assert found.observers[0].key == KEY
    assert found.policy.digest == shipped_arena("h200-decode").digest
    assert run(words(RMS, gpu_launch, "h200-decode", "--output", str(file))) == 2


def test_two_requirements_have_two_nonces(gpu_launch: Path, tmp_path: Path) -> None:
    nonces = set()
    for name in ("one.json", "two.json"):
        assert run(words(RMS, gpu_launch, "h200-decode", "--output", str(tmp_path / name))) == 0
        nonces.add(decode((tmp_path / name).read_bytes(), Requirement).nonce)
    assert len(nonces) == 2


def undeclared(tmp_path: Path) -> Path:
    bundle = tmp_path / "undeclared"
    assert run(["init", "norm.rmsnorm", str(bundle)]) == 0
    for file in (bundle / "metadata").iterdir():
        file.write_text("{}")
    return bundle


def test_what_can_only_fail_is_said_at_once(
    gpu_launch: Path, tmp_path: Path, capsys: Captured
) -> None:
    bundle = undeclared(tmp_path)
    capsys.readouterr()
    assert run(words(bundle, gpu_launch, "h200-decode", "--output", str(tmp_path / "r.json"))) == 1
    out = capsys.readouterr().out
    assert (
        "can only FAIL: no-applicable-case: norm.rmsnorm: variant default: graph_safe is unset"
        in out
    )
    assert (tmp_path / "r.json").exists()


def test_standard_output_holds_the_requirement_alone(
    gpu_launch: Path, cpu_launch: Path, tmp_path: Path
) -> None:
    def said(line: list[str]) -> tuple[int, bytes, str]:
        done = subprocess.run(
            [sys.executable, "-m", "cacheon.cli", *line],
            capture_output=True,
            env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.decode()

    code, out, err = said(words(undeclared(tmp_path), gpu_launch))
    assert code == 1
    assert decode(out, Requirement).target == "norm.rmsnorm"
    assert err.startswith("cacheon: can only FAIL: no-applicable-case: norm.rmsnorm")
    code, out, err = said(words(RMS, cpu_launch, "rehearsal-cpu"))
    assert code == 0
    assert decode(out, Requirement).launch.device == "cpu"
    assert "the best that this can end in is NO_DECISION" in err


def test_an_arena_of_ones_own_pins_its_own_keys(
    cpu_launch: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "arena.toml"
    file.write_text(MINE.replace('dtype = "float32", quant = "fp8"', 'dtype = "float32"'))
    line = words(RMS, cpu_launch, str(file), "--output", str(tmp_path / "r.json"))
    assert run(line) == 2
    assert "observer me: expected a key that is not pinned yet" in capsys.readouterr().err
    at = line.index("--observer")
    assert run([*line[:at], *line[at + 2 :]]) == 1  # too little for the catalogue
    assert "more than the work budget" in capsys.readouterr().out
    file.write_text(MINE)
    assert run(line) == 2
    assert "bounds.fp8: expected no bounds for the arena's own quant" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("--observer", "me"), "--observer: expected NAME=KEY"),
        (("--observer", "ME=" + KEY), "--observer: expected NAME=KEY"),
        (("--observer", "you=" + KEY.upper()), "--observer: expected NAME=KEY"),
        (("--observer", "you=" + "00" * 32), "public-key: expected a point of the curve's"),
        (("--arena", "nosuch"), "arena: expected one of h200-decode"),
        (("--arena", "h200-tp2"), "arena h200-tp2: expected a target of this arena"),
        (("--launch", str(RMS / "manifest.toml")), "not-a-record"),
        (("--launch", "nowhere.json"), "nowhere.json: expected a readable file"),
        (("--bundle", "nowhere"), "nowhere"),
        (("--arena", "rehearsal-cpu"), "launch: expected device cpu, got cuda"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    change: tuple[str, str], line: str, gpu_launch: Path, capsys: Captured
) -> None:
    assert run([*words(RMS, gpu_launch), *change]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert line in err


def test_a_requirement_is_written_without_torch_or_a_grader(gpu_launch: Path) -> None:
    script = (
        "import sys\n"
        "from cacheon.cli.main import run\n"
        f"code = run({words(RMS, gpu_launch)!r})\n"
        "print(code, *sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "src")),
        check=True,
    )
    code, *names = done.stderr.split()
    assert code == "0"
    assert not {"torch", "triton", "numpy", "rich"} & set(names)
    assert not [name for name in names if name.startswith("cacheon.engine.grader")]
