"""A directory of files that somebody sent."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cacheon.evidence.store import StoreFailed, StoreRefused
from cacheon.evidence.store.folder import Folder
from cacheon.records.digest import sha256

DATA = b'{"one":1}'
NAME = sha256(DATA)


def code(call: Callable[[], object]) -> str:
    with pytest.raises(StoreRefused) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_a_file_is_found_by_its_digest(tmp_path: Path, suffix: str) -> None:
    (tmp_path / (NAME + suffix)).write_bytes(DATA)
    with Folder(tmp_path) as folder:
        assert folder.get(NAME) == DATA
        assert folder.get(NAME, len(DATA)) == DATA
        assert folder.file(NAME + suffix, 99) == DATA
        assert code(lambda: folder.get(NAME, len(DATA) - 1)) == "too-large"


def link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def second_name(path: Path) -> None:
    path.with_name("other").write_bytes(DATA)
    os.link(path.with_name("other"), path)


MADE: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (link, "not-a-file"),
    "fifo": (os.mkfifo, "not-a-file"),
    "directory": (Path.mkdir, "not-a-file"),
    "second name": (second_name, "hard-link"),
    "other bytes": (lambda path: path.write_bytes(b"{}"), "corrupt"),
    "half": (lambda path: path.write_bytes(DATA[:4]), "corrupt"),
    "nothing": (lambda path: None, "missing"),
}


@pytest.mark.parametrize("what", MADE)
def test_what_is_not_the_file_is_refused(tmp_path: Path, what: str) -> None:
    make, expected = MADE[what]
    make(tmp_path / NAME)
    with Folder(tmp_path) as folder:
        assert code(lambda: folder.get(NAME)) == expected


@pytest.mark.parametrize("name", ["", "../x", NAME.upper(), NAME[:-1], NAME + "\n"])
def test_only_digests_become_paths(tmp_path: Path, name: str) -> None:
    with Folder(tmp_path) as folder:
        assert code(lambda: folder.get(name)) == "not-a-digest"


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert code(lambda: Folder(tmp_path / "nowhere")) == "not-a-store"
    (tmp_path / "file").touch()
    assert code(lambda: Folder(tmp_path / "file")) == "not-a-store"


def test_a_failing_system_is_nobodys_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(DATA)
    with Folder(tmp_path) as folder:

        def fail(descriptor: int, size: int) -> bytes:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "read", fail)
        with pytest.raises(StoreFailed):
            folder.get(NAME)


def test_a_name_that_no_file_can_have_is_missing(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        assert code(lambda: folder.file("a" * 300, 1)) == "missing"
