"""Intake at the door: what is taken in, what is refused, and that a refusal keeps nothing."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.paper.evidence.deciding.stored import (
    PINNED,
    PUBLIC,
    SIGNERS,
    kept,
    sealed,
    statement,
)
from tests.paper.evidence.deciding.world import RUNS, digest_of
from tests.paper.evidence.laboratory import body, observed, seen_by

from cacheon.cli.main import run
from cacheon.evidence.delivery import DELIVERY_TYPE
from cacheon.evidence.envelope import MOST, seal
from cacheon.evidence.minimum import MINIMA
from cacheon.evidence.pointers import DELIVERIES, NONCES, REQUIREMENTS, named
from cacheon.evidence.store import DirectoryStore
from cacheon.evidence.store.folder import Folder
from cacheon.records.canonical import encode
from cacheon.records.digest import sha256

Captured = pytest.CaptureFixture[str]
REQUIREMENT = digest_of(PINNED)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A requirement in a file, and an observer's store."""
    monkeypatch.chdir(tmp_path)
    Path("requirement.json").write_bytes(encode(PINNED))


def taking(delivery: str, *more: str, requirement: str = "requirement.json") -> list[str]:
    return ["intake", delivery, "--requirement", requirement, "--store", "evidence", *more]


def sent(delivery: bytes, directory: str = "sent", suffix: str = ".json") -> str:
    """A delivery as files: the envelope, and every observation under its digest."""
    Path(directory).mkdir()
    for row in seen_by():
        (Path(directory) / (digest_of(row) + suffix)).write_bytes(encode(row))
    (Path(directory) / "delivery.json").write_bytes(delivery)
    return f"{directory}/delivery.json"


def test_a_delivery_is_taken_out_of_an_observers_store(capsys: Captured) -> None:
    delivery = observed(Path("observed"))
    assert run(taking(delivery, "--from", "observed")) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"taken in {delivery}\n")
    assert "observations=5" in out
    with DirectoryStore.open(Path("evidence")) as store:
        assert store.pointer(DELIVERIES, named(REQUIREMENT, PUBLIC[0])) == delivery
        assert store.pointer(NONCES, named(PINNED.nonce, PUBLIC[0])) == delivery
        assert store.pointer(REQUIREMENTS, named(REQUIREMENT)) == REQUIREMENT
    assert run(["fsck", "evidence"]) == 0
    capsys.readouterr()
    # Again is no second delivery.
    assert run(taking(delivery, "--from", "observed", "--format", "json")) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "cacheon.intake.v1"
    assert body["again"] is True
    assert body["absent"] == []
    assert run(taking(delivery, requirement=REQUIREMENT)) == 0
    assert capsys.readouterr().out.startswith("taken in before")


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_a_delivery_is_taken_out_of_a_directory(suffix: str, capsys: Captured) -> None:
    file = sent(body(seen_by()), suffix=suffix)
    assert run(taking(file)) == 0
    Path("moved.json").write_bytes(body(seen_by()))
    assert run(taking("moved.json", "--from", "sent")) == 0
    Path("sent", sha256(body(seen_by()))).write_bytes(body(seen_by()))
    assert run(taking(sha256(body(seen_by())), "--from", "sent")) == 0
    assert capsys.readouterr().out.count("taken in before") == 2


def test_what_a_delivery_does_not_show_is_said_at_once(capsys: Captured) -> None:
    delivery = observed(Path("observed"), seen_by()[:-1])
    assert run(taking(delivery, "--from", "observed")) == 0
    assert "member-missing collective.all_reduce" in capsys.readouterr().out


# --- refusals --------------------------------------------------------------------------------


def signed_by_another() -> bytes:
    return sealed(statement(seen_by()), 1)


def verdict() -> bytes:
    """A worker that grades itself."""
    return altered(verdict="PASS")


def altered(**fields: str) -> bytes:
    """A delivery whose observer changed some fields before signing."""
    said = json.loads(encode(statement(seen_by()))) | fields
    return seal(encode(said), DELIVERY_TYPE, [SIGNERS[0]])


REFUSED: dict[str, Callable[[], bytes]] = {
    "not-a-record": verdict,
    "not-canonical": lambda: body(seen_by()) + b"\n",
    "unsigned": signed_by_another,
    "key-not-pinned": lambda: body(seen_by(2), lab=2),
    "other-requirement": lambda: altered(requirement=sha256(b"another")),
    "other-nonce": lambda: body(seen_by(), nonce=sha256(b"another")),
    "other-launch": lambda: body(seen_by(), launch=sha256(b"another")),
    "other-run": lambda: body(seen_by(), run=RUNS[1]),
    "missing": lambda: body(seen_by(1)),
    "too-large": lambda: b" " * (MOST + 1),
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_refusal_has_a_code_and_keeps_nothing(code: str, capsys: Captured) -> None:
    file = sent(sealed(statement(seen_by())))
    with DirectoryStore.open(Path("evidence"), create=True) as store:
        store.link(REQUIREMENTS, named(REQUIREMENT), store.put(encode(PINNED)))
        before = kept(store)
    Path(file).write_bytes(REFUSED[code]())
    assert run(taking(file)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cacheon: refused {code}: ")
    assert err.count("\n") == 1
    with DirectoryStore.open(Path("evidence")) as store:
        assert kept(store) == before


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: os.mkfifo(path), "not-a-file"),
        (lambda path: path.mkdir(), "not-a-file"),
        (lambda path: path.symlink_to("other"), "not-a-file"),
        (lambda path: path.hardlink_to(Path("sent/other")), "hard-link"),
        (lambda path: None, "missing"),
    ],
    ids=["fifo", "directory", "link", "second-name", "nothing"],
)
def test_a_delivery_is_a_plain_file(
    make: Callable[[Path], None], code: str, capsys: Captured
) -> None:
    file = Path(sent(body(seen_by())))
    file.rename("sent/other")
    make(file)
    assert run(taking(str(file))) == 2
    assert capsys.readouterr().err.startswith(f"cacheon: refused {code}: ")


def test_a_nonce_is_spent_once(capsys: Captured) -> None:
    assert run(taking(observed(Path("first")), "--from", "first")) == 0
    rows = [msgspec.structs.replace(row, run=RUNS[1]) for row in seen_by()]
    again = observed(Path("second"), rows, run=RUNS[1])
    assert run(taking(again, "--from", "second")) == 2
    assert "refused nonce-spent" in capsys.readouterr().err


def test_an_older_policy_is_refused_now_and_ever_after(capsys: Captured) -> None:
    delivery = observed(Path("observed"))
    newer = f"{PINNED.policy.arena}={PINNED.policy.version + 1}"
    for more in (("--minimum", newer), (), ("--minimum", "h200=0")):
        assert run(taking(delivery, "--from", "observed", *more)) == 2
        assert "refused policy-older: expected arena h200 4 or newer" in capsys.readouterr().err


def test_a_damaged_minimum_is_no_fault_of_the_delivery(capsys: Captured) -> None:
    observed(Path("observed"))
    with DirectoryStore.open(Path("evidence"), create=True) as store:
        digest = store.put(b"{}")
        store.link(MINIMA, named(digest, digest), digest)
    assert run(taking("observed")) == 2
    assert f"cacheon: {digest}: not-a-record: expected a Minimum" in capsys.readouterr().err


def test_an_arena_says_which_versions_count(capsys: Captured) -> None:
    delivery = observed(Path("observed"))
    named = ("--minimum", "h200-decode", "--format", "json")
    assert run(taking(delivery, "--from", "observed", *named)) == 0
    capsys.readouterr()
    assert run(["ls", "evidence", "--kind", "minimum"]) == 0
    assert "arena=h200-decode version=1" in capsys.readouterr().out


def test_an_observers_store_is_a_delivery(capsys: Captured) -> None:
    delivery = observed(Path("observed"))
    assert run(taking("observed")) == 0
    assert capsys.readouterr().out.startswith(f"taken in {delivery}\n")
    DirectoryStore.open(Path("empty"), create=True).close()
    assert run(taking("empty")) == 2
    assert f"empty: expected one delivery for {REQUIREMENT}, got none" in capsys.readouterr().err
    observed(Path("observed"), lab=1)
    assert run(taking("observed")) == 2
    assert f"expected one delivery for {REQUIREMENT}, got 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--minimum", "h200"], "arena: expected one of h200-decode"),
        (["--minimum", "h200=-1"], "--minimum: expected NAME=VERSION of an arena"),
        (["--minimum", "../x=1"], "--minimum: expected NAME=VERSION of an arena"),
        (["--requirement", "nowhere"], "nowhere: expected a readable file"),
        (["--requirement", "sent/delivery.json"], "sent/delivery.json: not-a-record"),
        (["--requirement", "0" * 64], f"refused other-requirement: expected {'0' * 64}"),
        (["--from", "nowhere"], "nowhere: not-a-store: expected a directory"),
        (["--store", "sent"], "sent: not-a-store: expected a file `format`"),
    ],
)
def test_what_is_no_fault_of_the_delivery(words: list[str], line: str, capsys: Captured) -> None:
    assert run([*taking(sent(body(seen_by()))), *words]) == 2
    assert line in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nowhere", "a" * 300, "sent/" + "a" * 300, "nowhere/at/all"])
def test_a_delivery_that_is_nowhere_is_one_line(name: str, capsys: Captured) -> None:
    sent(body(seen_by()))
    assert run(taking(name)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


def test_a_file_system_that_cannot_tell_is_no_fault_of_the_delivery(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    delivery = sent(body(seen_by()))
    real = os.stat

    def failing(path: Any, *args: Any, **named: Any) -> os.stat_result:
        if str(path).endswith("format"):
            raise OSError(errno.EIO, "unread")
        return real(path, *args, **named)

    monkeypatch.setattr(os, "stat", failing)
    assert run(taking(delivery)) == 3
    assert "Input/output error; nothing was decided by this" in capsys.readouterr().err


def test_a_folder_asks_for_digests_and_hashes() -> None:
    sent(body(seen_by()))
    row = digest_of(seen_by()[0])
    with Folder(Path("sent")) as folder:
        assert folder.get(row) == encode(seen_by()[0])
        Path("sent", row).write_bytes(b"{}")
        for name, code in (("../requirement.json", "not-a-digest"), (row, "corrupt")):
            with pytest.raises(Exception) as caught:
                folder.get(name)
            assert getattr(caught.value, "code", "") == code
