"""An arena's file: TOML, then every key of it."""

import json
from collections.abc import Iterator

from tests.fuzz.targets.target import Target, refused

from cacheon.contract.arenas.model import Arena
from cacheon.contract.arenas.reading import read_arena
from cacheon.contract.arenas.shipped import arena_names, shipped_arena
from cacheon.records.digest import sha256
from cacheon.records.errors import CacheonError

_EVERYTHING = b"""name = "everything"
version = 3
minimum_version = 2
title = "every key there is"
targets = ["norm.rmsnorm"]
device = "cpu"
graph_required = false
replays = 2
soak = 0
probes = []
work_budget = 1
quorum = 2
isolation = "inline"
context = { architecture = "sm100a", dtype = "float32", tp_size = 2, world_size = 4, phase = "p", \
page_size = 16, quant = 'q', model = "m", runtime = "r", alignment = 8 }
limits.num_tokens = [1, 0x10]
[[observers]]
name = "a"
key = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"
[[observers]]
name = "b"
key = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
[bounds."fp8"]
tolerance = 1e-1
row_error = 0.5
"""


def check(data: bytes) -> bool:
    """What is read is named by the bytes, is within its type, and means the same when it is
    written plainly and read again."""
    try:
        read = read_arena(data, "arena.toml")
    except CacheonError as error:
        return refused(error)
    assert read.digest == sha256(data)
    assert len(repr(read)) < 10 * len(data) + 4000
    again = read_arena("\n".join(_written(read.arena)).encode(), "again.toml")
    assert again.arena == read.arena
    return True


def _written(arena: Arena) -> Iterator[str]:
    for key in ("name", "title", "device", "isolation"):
        yield f"{key} = {_quoted(getattr(arena, key))}"
    for key in ("version", "minimum_version", "replays", "soak", "work_budget", "quorum"):
        yield f"{key} = {getattr(arena, key)}"
    for key in ("targets", "probes", "compilation"):
        yield f"{key} = [{', '.join(map(_quoted, getattr(arena, key)))}]"
    yield f"graph_required = {str(arena.graph_required).lower()}"
    context = arena.context
    yield f"[context]\ndtype = {_quoted(context.dtype)}"
    yield f"architecture = {_quoted(context.architecture)}"
    yield f"tp_size = {context.tp_size}\nworld_size = {context.world_size}"
    for key, value in context.given.items():
        yield f"{key} = {_quoted(value) if isinstance(value, str) else value}"
    yield "[limits]"
    yield from (f"{field} = {list(ends)}" for field, ends in arena.limits.items())
    for key in arena.observers:
        yield f"[[observers]]\nname = {_quoted(key.name)}\nkey = {_quoted(key.key)}"
    for quant, bounds in arena.bounds.items():
        yield f"[bounds.{_quoted(quant)}]"
        yield f"tolerance = {bounds.tolerance!r}\nrow_error = {bounds.row_error!r}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def seeds() -> list[bytes]:
    shipped = (shipped_arena(name).arena for name in arena_names())
    return [_EVERYTHING, *("\n".join(_written(arena)).encode() for arena in shipped)]


TARGET = Target(
    "arena",
    check,
    seeds,
    words=(
        b'"""', b"'''", b"[[", b"]]", b"[context]", b"[limits]", b"[bounds.x]", b"[[observers]]",
        b"1979-05-27T07:32:00Z", b"9999-99-99", b"24:00:60", b"inf", b"0b1", b"0o7", b"\\U00110000",
        b"num_tokens = [1, 8192]\n", b"head_dim = [128, 128]\n", b'"attention.decode",', b"sm90",
    ),
)  # fmt: skip
