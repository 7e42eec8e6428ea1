"""Canonical bytes, held against an independent encoder, and the gate before decoding."""

import json
from typing import Any, Literal

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from cacheon.records.canonical import DEEPEST, LARGEST, decode, encode
from cacheon.records.digest import Digest
from cacheon.records.errors import RecordRefused
from cacheon.records.strict import Record


class Inner(Record):
    name: str
    count: int = 0


class Sample(Record):
    schema: Literal["sample/1"]
    flag: bool = False
    numbers: tuple[int, ...] = ()
    inner: Inner | None = None
    named: dict[str, int] = msgspec.field(default_factory=dict)
    digest: Digest | None = None


replace = msgspec.structs.replace
SAMPLE = Sample(schema="sample/1", numbers=(1, -2), inner=Inner(name="ä"), named={"b": 1, "a": 2})

text = st.text(st.characters(exclude_categories=("Cs", "Cc")))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | text,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.text(st.characters(min_codepoint=32, max_codepoint=126)), inner, max_size=5
        )
    ),
    max_leaves=20,
)


@given(plain)
def test_bytes_are_those_of_rfc_8785(value: object) -> None:
    assert encode(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


samples = st.builds(
    Sample,
    schema=st.just("sample/1"),
    flag=st.booleans(),
    numbers=st.lists(st.integers(-LARGEST, LARGEST)).map(tuple),
    inner=st.none() | st.builds(Inner, name=text, count=st.integers(0, LARGEST)),
    named=st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.integers(0, 9)),
    digest=st.none() | st.from_regex(r"\A[0-9a-f]{64}\Z", fullmatch=True),
)


@given(samples)
def test_decode_gives_back_what_was_encoded(sample: Sample) -> None:
    assert decode(encode(sample), Sample) == sample


@given(samples, st.data())
def test_one_changed_byte_is_another_record_or_none(sample: Sample, data: st.DataObject) -> None:
    stored = encode(sample)
    position = data.draw(st.integers(0, len(stored) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = stored[:position] + bytes([byte]) + stored[position + 1 :]
    try:
        read = decode(changed, Sample)
    except RecordRefused:
        return
    assert encode(read) == changed
    assert (read == sample) == (changed == stored)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 62), 1 << 62)
    | st.sampled_from([10**15 - 1, 10**15, LARGEST, LARGEST + 1, -LARGEST, -LARGEST - 1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.text(st.sampled_from('\\"/n\n\x7fé0')),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=10,
)


@given(anything)
def test_the_gate_refuses_what_may_not_be_encoded_and_nothing_else(value: object) -> None:
    data = msgspec.json.Encoder(order="sorted").encode(value)
    try:
        encoded = encode(value)
    except RecordRefused:
        with pytest.raises(RecordRefused):
            decode(data, object)
    else:
        assert encoded == data and decode(data, object) == value


class Loose(Sample):
    """The same, of which the type does not show that it holds no float."""

    spare: float | msgspec.UnsetType = msgspec.UNSET


near = st.sampled_from([10**15 - 1, 10**15, LARGEST, LARGEST + 1, 10**30]).flatmap(
    lambda number: st.sampled_from([number, -number])
)
awkward = st.text(st.sampled_from('\\"/n\n\x7fé0:,-[{1'), max_size=20)
fields = st.fixed_dictionaries(
    {
        "schema": st.just("sample/1"),
        "flag": st.booleans(),
        "numbers": st.lists(st.integers() | near | st.floats(allow_nan=False), max_size=4),
        "inner": st.fixed_dictionaries({"name": awkward, "count": near}) | st.none(),
        "named": st.dictionaries(awkward, st.integers() | near, max_size=3),
        "digest": st.none() | st.just("0" * 64),
    },
    optional={"other": anything, "spare": st.none()},
)


def outcome(data: bytes, kind: type[Sample]) -> str | dict[str, object]:
    try:
        return {**msgspec.structs.asdict(decode(data, kind)), "spare": None}
    except RecordRefused as refusal:
        return refusal.code


@given(fields, st.none() | st.tuples(st.integers(0, 300), st.binary(max_size=3)))
def test_what_a_type_shows_need_not_be_looked_for(
    value: dict[str, object], change: tuple[int, bytes] | None
) -> None:
    """Record or code are those of the long way round."""
    data = msgspec.json.Encoder(order="sorted").encode(value)
    if change:
        place, other = change
        data = data[:place] + other + data[place + 1 :]
    assert outcome(data, Sample) == outcome(data, Loose)


@pytest.mark.parametrize("field", ["flag", "numbers", "inner", "named", "digest", "nobody's", "{"])
@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_depth_is_seen_wherever_it_is(field: str, bracket: str) -> None:
    for depth, code in ((DEEPEST - 1, "not-a-record"), (DEEPEST, "too-deep"), (10**5, "too-deep")):
        data = f'{{"{field}":{bracket * depth}'.encode()
        assert outcome(data, Sample) == outcome(data, Loose) == code


@pytest.mark.parametrize(
    "sample",
    [
        replace(SAMPLE, numbers=(LARGEST + 1,)),
        replace(SAMPLE, numbers=(1, LARGEST + 1)),
        replace(SAMPLE, numbers=(1, -LARGEST - 1)),
        replace(SAMPLE, named={"a": LARGEST + 1}),
        replace(SAMPLE, named={"a": 1, "b": -LARGEST - 1}),
        replace(SAMPLE, inner=Inner(name="", count=LARGEST + 1)),
    ],
)
def test_a_long_integer_is_seen_wherever_it_stands(sample: Sample) -> None:
    data = msgspec.json.Encoder(order="sorted").encode(sample)
    assert outcome(data.replace("ä".encode(), b"a"), Sample) == "large-integer"


@pytest.mark.parametrize(
    ("value", "code"),
    [("1.5", "float"), (f"{LARGEST + 1}", "large-integer"), ("[" * 10**5, "too-deep")],
)
def test_a_record_that_may_hold_anything_is_looked_through(value: str, code: str) -> None:
    class Open(Record):
        value: Any

    with pytest.raises(RecordRefused) as caught:
        decode(f'{{"value":{value}}}'.encode(), Open)
    assert caught.value.code == code


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(RecordRefused):
        decode(data, Sample)


GOOD = encode(SAMPLE).decode()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (GOOD.replace('"count":0', '"count":0,"count":0'), "not-canonical"),
        (GOOD.replace('"count":0', '"count":0,"\\u0063ount":0'), "not-canonical"),
        (GOOD.replace('"count":0', '"count":false'), "not-a-record"),
        (GOOD.replace('"count":0', '"count":"0"'), "not-a-record"),
        (GOOD.replace('"count":0', '"count":NaN'), "not-a-record"),
        (GOOD.replace('"count":0', '"count":Infinity'), "not-a-record"),
        (GOOD.replace('"count":0', '"count":-0.0'), "not-a-record"),
        (GOOD.replace('"count":0', '"count":-0'), "not-canonical"),
        (GOOD.replace('"count":0', '"count":0e0'), "not-a-record"),
        (GOOD.replace('"count":0', '"count":1e400'), "not-a-record"),
        (GOOD.replace('"count":0', f'"count":{2**53}'), "large-integer"),
        (GOOD.replace('"count":0', f'"count":{"9" * 5000}'), "not-a-record"),
        (GOOD.replace("ä", "\\u00e4"), "not-canonical"),
        (GOOD.replace("ä", "\\u0007"), "control-character"),
        (GOOD.replace("ä", "\x85"), "control-character"),
        (GOOD.replace("ä", "\x7f"), "control-character"),
        (GOOD.replace("ä", "\\ud800"), "not-a-record"),
        (GOOD.replace('"flag"', '"flaw"'), "not-a-record"),
        (GOOD.replace("sample/1", "sample/2"), "not-a-record"),
        (GOOD.replace(',"schema":"sample/1"', ""), "not-a-record"),
        (GOOD.replace('"digest":null', '"digest":"' + "A" * 64 + '"'), "not-a-record"),
        (GOOD.replace('"digest":null', '"digest":"' + "a" * 65 + '"'), "not-a-record"),
        (GOOD.replace('{"a":2,"b":1}', '{"b":1,"a":2}'), "not-canonical"),
        (GOOD.replace('"a":2', '"ä":2'), "key"),
        (GOOD.replace('"a":2', '"\\u0001":2'), "control-character"),
        (GOOD + " ", "not-canonical"),
        (GOOD + "{}", "not-a-record"),
        ("\ufeff" + GOOD, "not-a-record"),
        ("[" * 100_000, "too-deep"),
        ('{"a":' * 100_000, "too-deep"),
        ("", "not-a-record"),
        (" " * (1 << 20) + GOOD, "too-large"),
    ],
)
def test_every_second_spelling_is_refused(data: str, code: str) -> None:
    with pytest.raises(RecordRefused) as caught:
        decode(data.encode("utf-8"), Sample, source="stored")
    assert caught.value.code == code
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_invalid_utf_8_is_refused() -> None:
    for bad in (b"\xff", b"\xed\xa0\x80", b"\xc0\xaf"):
        with pytest.raises(RecordRefused):
            decode(GOOD.encode().replace("ä".encode(), bad), Sample)


def test_brackets_in_text_are_no_nesting() -> None:
    sample = Sample(schema="sample/1", inner=Inner(name='[{"\\' * 200))
    assert decode(encode(sample), Sample) == sample


def test_depth_is_counted_up_to_its_limit() -> None:
    for depth in (1, DEEPEST):
        assert decode(b"[" * depth + b"]" * depth, list) is not None
    with pytest.raises(RecordRefused, match="open brackets"):
        decode(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), list)


@pytest.mark.parametrize("value", [1.0, {"a": [float("nan")]}, 2**53, "\ud800", "a\nb", {"é": 1}])
def test_what_has_no_single_spelling_is_not_encoded(value: object) -> None:
    with pytest.raises(RecordRefused):
        encode(value)


def test_a_refusal_is_quick_whatever_the_bytes_are() -> None:
    # Quotes and backslashes that a careless scanner would walk over again and again.
    for data in (b'"\\' * 500_000, b"\\" * 1_000_000, b'"' * 1_000_000, b"]" * 1_000_000):
        with pytest.raises(RecordRefused):
            decode(data, Sample)


def test_the_bytes_are_also_what_json_reads() -> None:
    assert json.loads(encode(SAMPLE)) == msgspec.to_builtins(SAMPLE, str_keys=True) | {
        "numbers": [1, -2]
    }


@given(st.text("[]{}", max_size=90), st.integers(0, DEEPEST + 2))
def test_nesting_is_counted_whatever_the_brackets_are(text: str, around: int) -> None:
    brackets = "[" * around + text + "}" * around
    depth = deepest = 0
    for bracket in brackets:
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    try:
        decode(brackets.encode(), Sample)
    except RecordRefused as refusal:
        # An escaped quote and a text full of brackets are outside of this: see above.
        assert (refusal.code == "too-deep") == (deepest > DEEPEST)  # noqa: PT017
