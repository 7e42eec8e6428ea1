"""An arena's file: what it may say, and one clear line for everything else."""

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheon.contract import region as searching
from cacheon.contract.arenas import Arena, Bounds, PinnedKey, read_arena
from cacheon.contract.descriptor import Context
from cacheon.records.digest import sha256
from cacheon.records.errors import InputError

KEY, OTHER = "ab" * 32, "cd" * 32
LEAST: dict[str, Any] = {
    "name": "mine",
    "version": 3,
    "targets": ["attention.decode"],
    "device": "cuda",
    "graph_required": True,
    "replays": 8,
    "soak": 256,
    "work_budget": 1 << 30,
    "quorum": 1,
    "context": {"architecture": "SM_90", "dtype": "bf16"},
}
FULL: dict[str, Any] = {
    **LEAST,
    "title": "all of it",
    "minimum_version": 2,
    "isolation": "inline",
    "probes": ["growth", "perturb"],
    "compilation": ["nvcc", "triton"],
    "quorum": 2,
    "context": {
        "architecture": "sm100a",
        "dtype": "float16",
        "tp_size": 2,
        "world_size": 4,
        "model": "m",
        "runtime": "r",
        "quant": "fp8",
        "phase": "extend",
        "alignment": 16,
        "page_size": 64,
    },
    "limits": {"num_tokens": [1, 64], "kv_len": [16, 4096]},
    "observers": [{"name": "one", "key": KEY}, {"name": "two", "key": OTHER}],
    "bounds": {"fp8": {"tolerance": 0.05, "row_error": 1}},
}


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(value: Any) -> str:
    """A value as TOML; tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower()


def written(values: dict[str, Any]) -> bytes:
    return "".join(f"{quoted(k)} = {toml(v)}\n" for k, v in values.items()).encode()


def read(values: dict[str, Any]) -> Arena:
    return read_arena(written(values), "a.toml").arena


def changed(path: str, value: Any, values: dict[str, Any] = FULL) -> dict[str, Any]:
    """The values with one of them replaced, or dropped where `value` is ...; dots lead
    into tables."""
    key, _, rest = path.partition(".")
    result = dict(values)
    if rest:
        result[key] = changed(rest, value, values[key])
    elif value is ...:
        del result[key]
    else:
        result[key] = value
    return result


def test_what_is_absent_has_a_documented_default() -> None:
    assert read(LEAST) == Arena(
        name="mine",
        version=3,
        title="",
        targets=("attention.decode",),
        device="cuda",
        context=Context(dtype="bfloat16", architecture="sm90", graph_mode="cuda_graph"),
        graph_required=True,
        replays=8,
        soak=256,
        work_budget=1 << 30,
        quorum=1,
        minimum_version=1,
        isolation="process",
        limits={},
        probes=(),
        compilation=(),
        observers=(),
        bounds={},
    )


def test_everything_that_may_be_said_is_read() -> None:
    arena = read(FULL)
    assert arena.context == Context(
        dtype="float16",
        architecture="sm100a",
        graph_mode="cuda_graph",
        tp_size=2,
        world_size=4,
        given={
            "model": "m",
            "runtime": "r",
            "quant": "fp8",
            "alignment": 16,
            "page_size": 64,
            "phase": "prefill",
        },
    )
    assert (arena.title, arena.minimum_version, arena.isolation) == ("all of it", 2, "inline")
    # In the order of the documentation, whatever the file's: one arena, one requirement.
    assert arena.probes == ("growth", "perturb")
    assert arena.compilation == ("triton", "nvcc")
    assert arena.limits == {"num_tokens": (1, 64), "kv_len": (16, 4096)}
    assert arena.observers == (PinnedKey(name="one", key=KEY), PinnedKey(name="two", key=OTHER))
    assert arena.bounds == {"fp8": Bounds(tolerance=0.05, row_error=1.0)}
    assert read({**FULL, "graph_required": False}).context.graph_mode == "eager"


def test_the_digest_is_that_of_the_very_bytes() -> None:
    data = written(FULL)
    assert read_arena(data, "a.toml").digest == sha256(data)
    assert read_arena(data + b"\n", "a.toml").digest != sha256(data)


MISTAKES: list[tuple[str, Any, str]] = [
    ("colour", "red", "colour: expected one of "),
    ("name", ..., "name: expected text, got nothing"),
    ("name", 7, "name: expected text, got an integer"),
    ("name", "", "name: expected text of 1 to 256 characters, got 0 characters"),
    ("name", "Mine", "name: expected letters a-z, digits"),
    ("name", "a/b", "name: expected letters a-z, digits"),
    ("version", ..., "version: expected an integer, got nothing"),
    ("version", 0, "version: expected 1 to "),
    ("version", True, "version: expected an integer, got a boolean"),
    ("version", 1.5, "version: expected an integer, got a number"),
    ("title", 1, "title: expected text, got an integer"),
    ("title", "a\nb", "title: expected printable text"),
    ("targets", ..., "targets: expected one or more targets, got none"),
    ("targets", [], "targets: expected one or more targets, got none"),
    ("targets", ["no.such"], "targets: expected registered targets, got 'no.such'"),
    ("targets", "attention.decode", "targets: expected a list of text, got text"),
    ("device", ..., "device: expected text, got nothing"),
    ("device", "tpu", "device: expected cuda or cpu, got 'tpu'"),
    ("graph_required", ..., "graph_required: expected a boolean, got nothing"),
    ("graph_required", 1, "graph_required: expected a boolean, got an integer"),
    ("replays", 1, "replays: expected 2 to 1000, got 1"),
    ("replays", ..., "replays: expected an integer, got nothing"),
    ("soak", -1, "soak: expected an integer from 0"),
    ("soak", 10**6, "soak: expected 0 to 100000, got 1000000"),
    ("work_budget", 0, "work_budget: expected 1 to "),
    ("quorum", 3, "quorum: expected 1 to 2, got 3"),
    ("quorum", ..., "quorum: expected an integer, got nothing"),
    ("minimum_version", 4, "minimum_version: expected 1 to 3, got 4"),
    ("isolation", "none", "isolation: expected process or inline, got 'none'"),
    ("probes", ["gamma"], "probes: expected some of growth, perturb, got 'gamma'"),
    ("probes", [1], "probes: expected a list of text"),
    ("compilation", ["gcc"], "compilation: expected some of triton, inductor, nvcc, got 'gcc'"),
    ("context", ..., "context: expected a table, got nothing"),
    ("context", [], "context: expected an object, got a list"),
    ("context.colour", "red", "context.colour: expected one of alignment, architecture"),
    ("context.graph_mode", "eager", "context.graph_mode: expected one of"),
    ("context.architecture", ..., "context.architecture: expected text, got nothing"),
    ("context.architecture", "hopper", "context.architecture: expected sm90 and so on"),
    ("context.dtype", "int8", "context.dtype: expected bfloat16 or float16 or float32"),
    ("context.world_size", 65, "context.world_size: expected 1 to 64, got 65"),
    ("context.tp_size", 5, "context.tp_size: expected 1 to 4, got 5"),
    ("context.tp_size", 3, "context.tp_size: expected a divisor of world_size=4, got 3"),
    ("context.page_size", "64", "context.page_size: expected an integer, got text"),
    ("context.page_size", 0, "context.page_size: expected 1 to "),
    ("context.model", "", "context.model: expected text of 1 to 256 characters"),
    ("context.model", "m" * 257, "context.model: expected text of 1 to 256 characters"),
    ("limits", 3, "limits: expected an object, got an integer"),
    ("limits.top_k", [1, 2], "limits.top_k: expected a dimension field of the targets' slots"),
    ("limits.kv_len", [1, 2, 3], "limits.kv_len: expected [lowest, highest], got a list"),
    ("limits.kv_len", 3, "limits.kv_len: expected [lowest, highest], got an integer"),
    ("limits.kv_len", [1, "2"], "limits.kv_len.highest: expected an integer, got text"),
    ("limits.kv_len", [0, 2], "limits.kv_len.lowest: expected 1 to "),
    ("limits.kv_len", [3, 2], "limits.kv_len.highest: expected 3 to "),
    ("limits.batch_size", [65, 70], "limits: expected limits that leave attention.decode a call"),
    ("observers", 3, "observers: expected [[observers]] rows, got an integer"),
    ("observers", [3], "observers: expected [[observers]] rows, got an integer"),
    ("observers", [{"name": "a"}], "observers[1].key: expected text, got nothing"),
    ("observers", [{"key": KEY}], "observers[1].name: expected text, got nothing"),
    ("observers", [{"name": "a", "key": KEY, "x": 1}], "observers[1].x: expected one of key, name"),
    ("observers", [{"name": "a", "key": "AB" * 32}], "observers[1].key: expected 64 lower-case"),
    (
        "observers",
        [{"name": "a", "key": KEY}, {"name": "b", "key": KEY}],
        "observers[2].key: expected one that no other observer has",
    ),
    (
        "observers",
        [{"name": "a", "key": KEY}, {"name": "a", "key": OTHER}],
        "observers[2].name: expected one that no other observer has",
    ),
    ("bounds", 3, "bounds: expected an object, got an integer"),
    ("bounds.fp8", 3, "bounds.fp8: expected an object, got an integer"),
    ("bounds.fp8.x", 3, "bounds.fp8.x: expected one of row_error, tolerance"),
    ("bounds.fp8.tolerance", ..., "bounds.fp8.tolerance: expected a number, got nothing"),
    ("bounds.fp8.tolerance", "1", "bounds.fp8.tolerance: expected a number, got text"),
    ("bounds.fp8.tolerance", True, "bounds.fp8.tolerance: expected a number, got a boolean"),
    ("bounds.fp8.tolerance", 0, "bounds.fp8.tolerance: expected a number above 0, at most 1"),
    ("bounds.fp8.row_error", float("nan"), "bounds.fp8.row_error: expected a number above 0"),
]


@pytest.mark.parametrize(("path", "value", "line"), MISTAKES)
def test_each_mistake_is_one_line(path: str, value: Any, line: str) -> None:
    with pytest.raises(InputError) as caught:
        read(changed(path, value))
    assert caught.value.message.startswith(f"a.toml: {line}"), caught.value.message
    assert "\n" not in caught.value.message


def test_limits_that_nobody_could_decide_are_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_MOST_NODES", 1)
    assert read(FULL).limits["num_tokens"] == (1, 64)


@pytest.mark.parametrize(
    "data", [b"\xff", b"name = ", b"name = 1\nname = 2", b"a = " + b"[" * 5000, b"#" * (300 << 10)]
)
def test_what_is_no_document_is_refused(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_arena(data, "a.toml")
    assert caught.value.message.startswith("a.toml: ")


text = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=True, allow_infinity=True),
    text,
    st.sampled_from(["cuda", "sm90", "attention.decode", KEY, "triton", "num_tokens"]),
    st.dates().map(lambda day: day),
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
paths = st.sampled_from(
    [
        *FULL,
        *(f"context.{key}" for key in FULL["context"]),
        "limits.kv_len",
        "bounds.fp8",
        "bounds.fp8.tolerance",
        "colour",
    ]
)


@given(st.dictionaries(paths, anything, min_size=1, max_size=4))
def test_whatever_it_says_there_is_an_arena_or_one_line(changes: dict[str, Any]) -> None:
    values = FULL
    # The longest first: a table that is replaced as a whole has no places left.
    for path in sorted(changes, key=lambda each: -each.count(".")):
        values = changed(path, changes[path], values)
    data = written(values)
    tomllib.loads(data.decode())
    said = answer(data)
    if isinstance(said, str):
        assert re.match(r"a\.toml: [^\n]+: expected [^\n]+, got [^\n]+\Z", said)
    else:
        assert said.context.world_size % said.context.tp_size == 0
        assert 1 <= said.minimum_version <= said.version


def answer(data: bytes) -> Arena | str:
    """The arena, or the line that says why it is none."""
    try:
        return read_arena(data, "a.toml").arena
    except InputError as error:
        return error.message
