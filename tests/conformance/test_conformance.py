"""Each directory's name is the expected answer of its last command (see README.md)."""

from pathlib import Path

import pytest
from tests.conformance.running import Done, answer, prepare

from cacheon.evidence.reasons import REASONS

ROOT = Path(__file__).parent
DIRECTORIES = sorted(path.parent for path in ROOT.glob("*/command"))
EXITS = {
    "pass": 0,
    "fail": 1,
    "no-decision": 3,
    "refused": 2,
    "same": 0,
    "differs": 1,
    "lost": 3,
    "uncovered": 1,
    "fits": 0,
    "deleted": 1,
    "contradicted": 1,
    "exported": 0,
    "unexported": None,
    "sound": 0,
    "damaged": 1,
}
"""What the last command ends with, by the first word of the name; None: 1 or 3."""
CODED = ("fail", "no-decision", "refused", "contradicted")
"""Answers that are followed by a code of docs/evidence/reasons.md."""


def expected(name: str) -> tuple[str, str]:
    """Answer and code from a directory's name; of several codes the longest."""
    word = next(word for word in sorted(EXITS, key=len, reverse=True) if _begins(name, word))
    if word not in CODED:
        return word, ""
    rest = name[len(word) + 1 :]
    return word, max((code for code in REASONS if _begins(rest, code)), key=len)


def _begins(name: str, word: str) -> bool:
    return name == word or name.startswith(f"{word}-")


def evidence(scratch: Path) -> set[tuple[str, str]]:
    """Everything in the store that a delivery could have brought."""
    if not (scratch / "evidence").exists():
        return set()
    done = answer("cacheon ls evidence --format json", scratch)
    if done.code:  # a store that cannot be listed takes nothing either
        return set()
    listed = done.body["records"]
    kinds = {"requirement", "minimum"}
    return {(each["kind"], each["digest"]) for each in listed if each["kind"] not in kinds}


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.name)
def test_the_answer_is_the_name(directory: Path, tmp_path: Path) -> None:
    word, code = expected(directory.name)
    prepare(directory, tmp_path)
    *before, last = (directory / "command").read_text().splitlines()
    for line in before:
        done = answer(line, tmp_path)
        assert done.code == 0, f"{line}\n{done.err}{done.out}"
    kept = evidence(tmp_path) if word == "refused" else set()
    done = answer(last, tmp_path)
    exits = (1, 3) if EXITS[word] is None else (EXITS[word],)
    assert done.code in exits, f"{done.err}{done.out}"
    assert (tmp_path / "out.jsonl").exists() is (word == "exported")
    _check(word, code, done)
    if word == "refused":
        # Nothing of it was kept, and nothing passes by it.
        assert evidence(tmp_path) == kept


def _check(word: str, code: str, done: Done) -> None:
    match word:
        case "pass" | "fail" | "no-decision":
            grade = done.body["grade"]
            assert grade["decision"] == word.upper().replace("-", "_")
            assert grade["reasons"][0]["code"] == (code or "every-case-shown")
        case "refused":
            assert done.out == ""
            assert done.err.count("\n") == 1, done.err
            assert f" {code}: " in done.err
        case "same" | "differs" | "lost":
            assert done.body["outcome"] == word
        case "uncovered":
            assert done.body["outcome"] == "same"
            assert not (done.body["log"]["requirement"] and done.body["log"]["grade"])
        case "fits" | "deleted":
            assert done.body["contradiction"] == ""
            assert bool(done.body["absent"]) is (word == "deleted")
        case "contradicted":
            assert f" {code}: " in done.body["contradiction"]
        case "sound" | "damaged":
            assert done.body["sound"] is (word == "sound")
