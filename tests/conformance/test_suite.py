"""The suite itself: its bytes are those that the sources make, and there is enough of it."""

import re
from pathlib import Path

import pytest
from tests.conformance.making.entry import Entry
from tests.conformance.making.suite import contents, entries
from tests.conformance.test_conformance import DIRECTORIES, EXITS, ROOT, expected

from cacheon.evidence.reasons import REASONS

ENTRIES = entries()
NEVER = {
    # A failing system or a full store: tests/paper/evidence/store.
    *("io", "full", "quota"),
    # Never the leading reason: the failure that it follows from is graver.
    "contradiction",
    # Set aside beside the reason that leads.
    "pointer",
    # No command line comes so far.
    *("not-a-digest", "not-a-name", "dangling", "taken", "damaged", "float", "log-proof"),
}
"""Codes that no directory's answer has."""


def files_of(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_bytes_are_what_the_sources_make(entry: Entry) -> None:
    assert files_of(ROOT / entry.name) == contents(entry)


def test_there_is_no_directory_beside_them() -> None:
    assert {path.name for path in DIRECTORIES} == {entry.name for entry in ENTRIES}


def test_there_is_enough_of_it() -> None:
    words = [expected(path.name)[0] for path in DIRECTORIES]
    assert len(DIRECTORIES) >= 70
    assert words.count("refused") >= 50
    assert set(words) == set(EXITS)


def test_every_code_of_a_decision_or_a_refusal_is_an_answer() -> None:
    given = {expected(path.name)[1] for path in DIRECTORIES} - {""}
    asked = {
        code
        for code, reason in REASONS.items()
        if reason.leads in ("FAIL", "NO_DECISION", "set-aside", "refused")
    }
    assert asked - given == NEVER


def test_every_attack_of_the_table_has_its_directories() -> None:
    page = (ROOT / "README.md").read_text()
    table = page[page.index("| attack |") : page.index("## Writing it again")]
    rows = table.splitlines()[2:-1]
    assert len(rows) == 27
    for row in rows:
        for start in re.findall(r"`([a-z0-9-]+)`", row.split("|")[2]):
            assert any(entry.name.startswith(start) for entry in ENTRIES), start
