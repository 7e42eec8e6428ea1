"""Files that a person names: read without waiting, or refused in one line."""

import errno
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cacheon.records.errors import InfrastructureError, InputError, LimitExceeded, RecordRefused
from cacheon.workflows.reading import read_bytes


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Whoever waits for a FIFO's writer is ended."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError("no answer in 5 s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(5)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refused(path: Path) -> RecordRefused:
    with pytest.raises(RecordRefused) as caught:
        read_bytes(path)
    assert caught.value.code == "not-a-file"
    assert caught.value.exit_code == 2
    return caught.value


def test_a_file_is_read_and_so_is_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "file") == read_bytes(tmp_path / "link", limit=3) == b"abc"


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    with pytest.raises(LimitExceeded, match="file: expected at most 2 bytes, got more"):
        read_bytes(tmp_path / "file", limit=2)


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "named")
    said = f"{tmp_path}/named: not-a-file: expected a regular file, got a FIFO"
    assert refused(tmp_path / "named").message == said


def test_nor_is_a_fifo_with_a_writer_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "named")
    both = os.open(tmp_path / "named", os.O_RDWR)
    try:
        os.write(both, b"{}")
        assert refused(tmp_path / "named").got == "a FIFO"
        assert os.read(both, 3) == b"{}"
    finally:
        os.close(both)


def test_directories_devices_and_sockets_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(tmp_path).got == "a directory"
    assert refused(Path("/dev/zero")).got == "a device"
    monkeypatch.chdir(tmp_path)  # a socket's path may be 108 bytes long
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("named")
        assert refused(Path("named")).got == "a socket, or no device"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    refused(tmp_path)
    read_bytes(Path(__file__))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", ["nowhere", "no\0such", "a" * 300])
def test_what_cannot_be_opened_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="expected a readable file, got "):
        read_bytes(tmp_path / name)


def test_a_file_system_that_fails_is_not_the_path_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> int:
        raise OSError(errno.EIO, "unread")

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(InfrastructureError, match="named: Input/output error"):
        read_bytes(tmp_path / "named")
