"""Keys at the door."""

import json
from pathlib import Path

import pytest

from cacheon.cli.main import run
from cacheon.evidence.keys import Key
from cacheon.records.digest import is_digest
from cacheon.workflows.require import pinned

Captured = pytest.CaptureFixture[str]


def test_a_new_key_is_shown_as_a_requirement_pins_it(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "observer.key"
    assert run(["keys", "new", str(file)]) == 0
    made = capsys.readouterr().out
    assert is_digest(made.rstrip("\n"))
    assert pinned(f"me={made.strip()}").key == made.strip()
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(["keys", "show", str(file)]) == 0
    assert capsys.readouterr().out == made
    # The secret is never shown.
    assert made.strip() not in file.read_text()


def test_as_json_with_the_id_that_signatures_carry(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "observer.key"
    assert run(["keys", "new", str(file), "--format", "json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body.pop("schema") == "cacheon.key.v1"
    assert body == {
        "key": Key.load(file).public.removeprefix("ed25519:"),
        "id": Key.load(file).id,
    }


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["keys", "new", "there"], 2, "there: key-exists: expected a new file"),
        (["keys", "show", "there"], 2, "there: key-file: expected `ed25519-secret:` and 64"),
        (["keys", "show", "nowhere"], 2, "nowhere: key-file: expected a key file"),
        (["keys", "new", "no/directory"], 3, "no/directory: no key written"),
        (["keys", "show", "open"], 2, "open: key-exposed: expected mode 0600, got 0644"),
    ],
)
def test_what_is_no_key_is_one_line(
    words: list[str],
    code: int,
    line: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("something else")
    assert run(["keys", "new", "open"]) == 0
    Path("open").chmod(0o644)
    capsys.readouterr()
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert line in err
