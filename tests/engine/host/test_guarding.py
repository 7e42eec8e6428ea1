"""What the host takes note of, and what it then sees."""

import errno
import os
import resource
from pathlib import Path

import pytest

from cacheon.engine.host import guarding
from cacheon.engine.host.guarding import Guard, fingerprint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "kernels").mkdir(parents=True)
    (root / "kernels" / "a.py").write_text("a")
    (root / "empty").mkdir()
    return root


def test_what_is_left_alone_is_unchanged(root: Path) -> None:
    guard = Guard(root)
    os.utime(root / "kernels" / "a.py", (1, 1))
    assert guard.changed() == ""


def test_the_control_is_watched_too(root: Path, tmp_path: Path) -> None:
    control = tmp_path / "control"
    (control / "kernels" / "__pycache__").mkdir(parents=True)
    (control / "kernels" / "a.py").write_text("a")
    guard = Guard(root, control)
    # An installer may do so at any time.
    (control / "kernels" / "__pycache__" / "a.cpython-311.pyc").write_text("")
    assert guard.changed() == ""
    (control / "kernels" / "a.py").write_text("b")
    assert guard.changed() == "the control was changed"
    (root / "__pycache__").mkdir()
    assert guard.changed() == "the snapshot was changed"


def test_every_change_is_seen(root: Path, tmp_path: Path) -> None:
    seen = [fingerprint(root)]
    file = root / "kernels" / "a.py"
    file.write_text("b")
    seen.append(fingerprint(root))
    file.chmod(0o755)
    seen.append(fingerprint(root))
    (root / "empty").rmdir()
    seen.append(fingerprint(root))
    (tmp_path / "same").write_text("b")
    file.unlink()
    file.symlink_to(tmp_path / "same")
    seen.append(fingerprint(root))
    file.unlink()
    os.mkfifo(file)
    seen.append(fingerprint(root))
    assert len(set(seen)) == len(seen)
    Guard(root)
    assert fingerprint(root / "nowhere") != fingerprint(root)


def test_a_path_may_be_longer_than_any_call_takes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard(root)
    monkeypatch.chdir(root)
    for _ in range(30):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    assert guard.changed() == "the snapshot was changed"
    assert any(said == "OSError" for _, _, said in fingerprint(root))


def test_what_keeps_this_process_from_looking_is_no_change(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    guard = Guard(root)
    monkeypatch.setattr(guarding.os, "open", full)
    with pytest.raises(OSError, match="too many"):
        guard.changed()


def test_no_more_than_a_bundle_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "MOST_BYTES", 4)
    (root / "large").write_text("x" * 100)
    assert any(said == "too large" for _, _, said in fingerprint(root))
    monkeypatch.setattr(guarding, "MOST_FILES", 5)
    for n in range(50):
        (root / f"file{n}").touch()
    assert len(fingerprint(root)) == 6


def test_limits_are_set_back(root: Path) -> None:
    guard = Guard(root)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    assert "limits" in guard.changed()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)
    assert guard.changed() == ""
