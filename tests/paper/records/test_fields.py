"""Documents that would take a reader long, or that only look like it."""

import time

import pytest

from cacheon.records.errors import InputError, LimitExceeded
from cacheon.records.fields import DEEPEST, MOST_BYTES, parse_toml

PARTS = ("a", "a-1_", '"a"', "'a'", '"\\""', '"."', '""')


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dot", [".", " . ", "\t."])
@pytest.mark.parametrize(
    "form", ["{} = 1", "[{}]\nb = 1", "[[{}]]", "b = {{ {} = 1 }}", "é#\n{}=1"]
)
def test_a_key_of_too_many_parts_is_refused_before_it_is_followed(
    part: str, dot: str, form: str
) -> None:
    with pytest.raises(LimitExceeded, match=f"expected at most {DEEPEST} levels"):
        parse_toml(form.format(dot.join([part] * (DEEPEST + 1))).encode(), "f")


def test_the_deepest_key_is_read() -> None:
    assert parse_toml(b"a." * (DEEPEST - 1) + b"a = 1", "f")
    with pytest.raises(LimitExceeded):
        parse_toml(b"a." * DEEPEST + b"a = 1", "f")


@pytest.mark.parametrize(
    "text",
    [
        "# " + "." * 300,
        "a = '" + "." * 300 + "'",
        "a = [" + "1.5, " * 300 + "]",
        "# 1. 2" + " .3" * 9,
    ],
)
def test_dots_are_no_key(text: str) -> None:
    assert parse_toml(text.encode(), "f")


@pytest.mark.parametrize(
    "text",
    [
        "a." * MOST_BYTES,
        "a" * MOST_BYTES,
        '"a".' * MOST_BYTES,
        '"' * MOST_BYTES,
        '"' + "\\" * MOST_BYTES,
        ("a" + " " * 2000) * 100,
        "[" + "a." * 60_000 + "a]\n" + "b = 1\n" * 20_000,
        "[" * MOST_BYTES,
        "a = 0x" + "f" * MOST_BYTES,
    ],
)
def test_no_document_takes_long(text: str) -> None:
    started = time.process_time()
    try:
        parse_toml(text.encode()[:MOST_BYTES], "f")
    except InputError as error:
        assert error.message.isprintable()  # noqa: PT017
    assert time.process_time() - started < 3
