"""`cacheon scan`: exit codes, and each form of the report."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import fastjsonschema
import pytest

from cacheon.cli.main import run
from cacheon.rules.catalogue import RULES

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "src" / "cacheon" / "examples"
BROKEN, GOOD = EXAMPLES / "broken", EXAMPLES / "good"
Captured = pytest.CaptureFixture[str]

SOURCE = """\
import torch
from torch import Tensor


def norm(x: Tensor) -> Tensor:
    ü = x.sum().item()
    torch.cuda.synchronize()  # cacheon: ignore[CG105] measured by hand
    return x / ü
"""


@pytest.fixture(scope="module")
def accepted() -> Callable[[Any], Any]:
    """The published schema of SARIF 2.1.0; raises for what it refuses."""
    schema = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text())
    check: Callable[[Any], Any] = fastjsonschema.compile(schema)
    return check


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some norm.py").write_text(SOURCE)
    return Path("some norm.py")


def test_nothing_found_is_0(capsys: Captured) -> None:
    assert run(["scan", str(GOOD)]) == 0
    out, err = capsys.readouterr()
    sources = len(list(GOOD.rglob("*.py")))
    assert (out, err) == (f"0 findings in {sources} sources\n", "")


def test_findings_are_1_and_stand_at_their_places(source: Path, capsys: Captured) -> None:
    assert run(["scan", str(source)]) == 1
    out, err = capsys.readouterr()
    assert out == (
        "some norm.py:6:9  CG101 error  `.item()` reads values of the device on the host\n"
        "    ü = x.sum().item()\n"
        "    in norm · cacheon explain CG101\n"
        "some norm.py:7:5  CG105 error  `torch.cuda.synchronize` waits for the device, or "
        "asks it, on the host\n"
        "    torch.cuda.synchronize()  # cacheon: ignore[CG105] measured by hand\n"
        "    ignored: measured by hand\n"
        "1 finding, 1 ignored in 1 source\n"
    )
    assert err == ""


def test_what_is_ignored_does_not_count(source: Path, capsys: Captured) -> None:
    source.write_text(SOURCE.replace(".item()", ".item()  # cacheon: ignore[CG101] for a log"))
    assert run(["scan", str(source)]) == 0
    assert "0 findings, 2 ignored in 1 source\n" in capsys.readouterr().out


def test_what_cannot_be_read_is_2_and_a_line(source: Path, capsys: Captured) -> None:
    assert run(["scan", "nowhere"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "cacheon: nowhere: expected a file or a directory, got nothing\n"
    assert run(["scan", str(source), "nowhere"]) == 2
    out, err = capsys.readouterr()
    assert "CG101" in out
    assert err.count("\n") == 1


def test_json_holds_every_finding(capsys: Captured) -> None:
    assert run(["scan", "--format", "json", str(BROKEN / "item_read")]) == 1
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    (finding,) = report["findings"]
    assert finding == {
        "rule": "CG101",
        "file": "kernels/silu_and_mul.py",
        "line": 8,
        "column": 22,
        "function": "silu_and_mul",
        "source": "scale = max(1.0, up.abs().amax().item())",
        "message": "`.item()` reads values of the device on the host",
        "severity": "error",
        "confidence": "high",
        "ignored": "",
    }


@pytest.mark.parametrize(
    "words",
    [
        [str(BROKEN)],
        [str(GOOD)],
        ["some norm.py", "nowhere"],
        ["."],
    ],
    ids=["broken", "good", "partly_unusable", "directory"],
)
def test_sarif_is_accepted_by_its_schema(
    words: list[str], source: Path, capsys: Captured, accepted: Callable[[Any], Any]
) -> None:
    code = run(["scan", "--format", "sarif", *words])
    log = json.loads(capsys.readouterr().out)
    accepted(log)
    (found,) = log["runs"]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    for result in found["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] == RULES[result["ruleId"]].severity
    counted = [result for result in found["results"] if "suppressions" not in result]
    assert code == (2 if not found["invocations"][0]["executionSuccessful"] else bool(counted))


def test_the_schema_can_refuse(accepted: Callable[[Any], Any]) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaException):
        accepted({"version": "2.1.0", "runs": [{"tool": {}}]})


def test_sarif_says_where_and_why_it_is_ignored(source: Path, capsys: Captured) -> None:
    run(["scan", "--format", "sarif", str(source)])
    first, second = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "some%20norm.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 6
    assert place["region"]["startColumn"] == 9
    assert second["suppressions"] == [{"kind": "inSource", "justification": "measured by hand"}]


def test_sarif_leads_to_the_file(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Below the directory from where it was run, by a path from there; else from the root."""
    (tmp_path / "inner").mkdir()
    below, whole = "some%20norm.py", f"{tmp_path.as_uri()}/some%20norm.py"
    for start, word, uri, based in [
        (tmp_path, "some norm.py", below, True),
        (tmp_path, str(tmp_path / "some norm.py"), below, True),
        (tmp_path, "inner/../some norm.py", below, True),
        (tmp_path, ".", below, True),
        (tmp_path / "inner", "../some norm.py", whole, False),
        (tmp_path / "inner", str(tmp_path / "some norm.py"), whole, False),
    ]:
        monkeypatch.chdir(start)
        run(["scan", "--format", "sarif", word])
        (found,) = json.loads(capsys.readouterr().out)["runs"]
        place = found["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": uri} | ({"uriBaseId": "%SRCROOT%"} if based else {})
        assert found["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{start.as_uri()}/"}}
        assert urljoin(found["originalUriBaseIds"]["%SRCROOT%"]["uri"], uri) == whole


def test_a_finding_of_a_whole_file_has_no_line(tmp_path: Path, capsys: Captured) -> None:
    for name in ("manifest.toml", "kernels/silu_and_mul.py", "metadata/silu_and_mul.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((GOOD / "torch_silu_and_mul" / name).read_text())
    (tmp_path / "kernels" / "spare.py").write_text("")
    assert run(["scan", str(tmp_path)]) == 1
    assert f"{tmp_path}/kernels/spare.py  CG910 warning  no row" in capsys.readouterr().out
    run(["scan", "--format", "sarif", str(tmp_path)])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert "logicalLocations" not in result["locations"][0]


def test_flake8_shows_findings(source: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select", "CG", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "some norm.py:6:9: CG101 `.item()` reads values of the device on the host"
    ], done.stderr


def test_the_hook_runs_the_verb() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert "- id: cacheon-scan\n" in hook
    assert "  entry: cacheon scan\n" in hook
    assert "  types: [python]\n" in hook
