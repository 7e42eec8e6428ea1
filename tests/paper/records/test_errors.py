"""Messages stay one line whatever they are made of, and the exit codes are frozen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheon.records.digest import is_digest, sha256
from cacheon.records.errors import (
    CacheonError,
    DeviceMissing,
    GraphProofUnavailable,
    InfrastructureError,
    InputError,
    LimitExceeded,
    RecordRefused,
    one_line,
)
from cacheon.records.strict import Record

anything = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {"file": "m.toml", "place": "ops[1].slot", "expected": "a slot", "got": "'x'"},
            "m.toml: ops[1].slot: expected a slot, got 'x'",
        ),
        ({"place": "--device", "got": "none"}, "--device: got none"),
        ({"file": "a", "expected": "b"}, "a: expected b"),
        ({}, ""),
    ],
)
def test_a_line_says_file_place_expected_and_got(parts: dict[str, str], line: str) -> None:
    assert str(InputError(**parts)) == line


@given(anything, anything, anything, anything)
def test_hostile_text_makes_neither_lines_nor_escape_sequences(
    file: str, place: str, expected: str, got: str
) -> None:
    line = str(InputError(file=file, place=place, expected=expected, got=got))
    assert line.isprintable()
    assert len(line) <= 600
    line.encode("utf-8")


def test_long_text_is_cut() -> None:
    assert one_line("x" * 10_000_000, 10) == "x" * 9 + "…"
    assert len(one_line("\x1b" * 10_000, 100)) == 100


def test_exit_codes() -> None:
    assert {
        kind.__name__: kind.exit_code
        for kind in (
            CacheonError,
            InputError,
            DeviceMissing,
            LimitExceeded,
            RecordRefused,
            InfrastructureError,
            GraphProofUnavailable,
        )
    } == {
        "CacheonError": 1,
        "InputError": 2,
        "DeviceMissing": 2,
        "LimitExceeded": 2,
        "RecordRefused": 2,
        "InfrastructureError": 3,
        "GraphProofUnavailable": 4,
    }


def test_diagnosis_and_page_are_kept() -> None:
    error = InfrastructureError("the grader was lost", diagnosis="It was\nkilled.", page="CG901")
    assert (error.message, error.diagnosis, error.page) == (
        "the grader was lost",
        "It was\nkilled.",
        "CG901",
    )


def test_digests_have_one_spelling() -> None:
    digest = sha256(b"abc")
    assert digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert is_digest(digest)
    for other in (digest.upper(), digest[:-1], digest + "\n", "sha256:" + digest, digest + "a"):
        assert not is_digest(other)


def test_records_never_change() -> None:
    class Thing(Record):
        name: str

    thing = Thing(name="a")
    with pytest.raises(AttributeError):
        thing.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Thing(name="a", other="b")  # type: ignore[call-arg]
