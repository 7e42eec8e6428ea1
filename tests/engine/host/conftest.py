"""A fork server for the tests of a module, and guests in it."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine.host.guests import Guest, put_away

from cacheon.engine.host.supervisor import Supervisor


@pytest.fixture
def own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files into which nobody else writes."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return directory


@pytest.fixture(scope="module")
def supervisor() -> Iterator[Supervisor]:
    made = Supervisor("cpu")
    yield made
    made.close()


@pytest.fixture
def own_supervisor() -> Iterator[Supervisor]:
    """For tests that break it."""
    made = Supervisor("cpu")
    yield made
    made.close()
    put_away(made.process.pid)


@pytest.fixture
def invite(supervisor: Supervisor, tmp_path: Path) -> Iterator[Callable[[], Guest]]:
    """Makes guests; those that the test did not end are ended after it."""
    guests: list[Guest] = []

    def one() -> Guest:
        root = tmp_path / f"bundle{len(guests)}"
        root.mkdir()
        guests.append(Guest(supervisor, root))
        return guests[-1]

    yield one
    for guest in guests:
        if guest.pid in supervisor.children:
            guest.end(grace=0.0)
