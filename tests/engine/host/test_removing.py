"""Whatever a candidate leaves in a directory, nothing of it stays, and nobody trips over it."""

import os
from pathlib import Path

import pytest

from cacheon.engine import removing
from cacheon.engine.removing import remove


def dig(top: Path, name: str, depth: int) -> None:
    """A chain of directories, longer than any path may be."""
    back = os.open(".", os.O_RDONLY)
    try:
        os.chdir(top)
        for _ in range(depth):
            os.mkdir(name)
            os.chdir(name)
        Path("file").touch()
    finally:
        os.fchdir(back)
        os.close(back)


@pytest.mark.parametrize(("name", "depth"), [("d", 3000), ("d" * 200, 30)])
def test_no_depth_keeps_it(tmp_path: Path, name: str, depth: int) -> None:
    top = tmp_path / "top"
    top.mkdir()
    dig(top, name, depth)
    (top / "beside").mkdir()
    (top / "beside" / "file").touch()
    remove(top)
    assert not list(tmp_path.iterdir())


def test_no_mode_and_no_kind_of_file_keeps_it(tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    (top / "a" / "b").mkdir(parents=True)
    outside.mkdir(mode=0o500)
    (outside / "kept").mkdir()
    (top / "a" / "link").symlink_to(outside)
    (top / "loop").symlink_to("loop")
    os.mkfifo(top / "a" / "b" / "pipe")
    for directory in (top / "a" / "b", top / "a", top):
        directory.chmod(0)
    remove(top)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert outside.stat().st_mode & 0o777 == 0o500
    assert (outside / "kept").is_dir()


@pytest.mark.parametrize("kind", ["file", "link", "nothing"])
def test_what_stands_in_its_place_goes(tmp_path: Path, kind: str) -> None:
    place, outside = tmp_path / "place", tmp_path / "outside"
    outside.mkdir()
    if kind == "file":
        place.touch()
    elif kind == "link":
        place.symlink_to(outside)
    remove(place)
    assert list(tmp_path.iterdir()) == [outside]


def test_whoever_still_writes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.listdir

    def listing(where: int) -> list[str]:
        Path(tmp_path, "top", f"more{len(listed(tmp_path / 'top'))}").mkdir(exist_ok=True)
        return listed(where)

    (tmp_path / "top").mkdir()
    monkeypatch.setattr(removing.os, "listdir", listing)
    monkeypatch.setattr(removing, "_LONGEST", 0.2)
    remove(tmp_path / "top")
    assert listed(tmp_path / "top")
