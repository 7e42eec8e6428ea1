"""What a person asks of `verify`."""

from typing import Literal

from cacheon.engine.request import Isolation
from cacheon.records.strict import Record


class Options(Record):
    """`seed` None draws a fresh one; `soak` None takes the device's default (256 on a
    GPU, 64 on a CPU); `variants` and `cases` empty take them all. `world_size`: ranks that
    collectives are examined with, one process each; `tp_size` None is as many."""

    device: Literal["auto", "cuda", "cpu"] = "auto"
    dtype: str = ""
    seed: int | None = None
    replays: int = 8
    soak: int | None = None
    variants: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    every_row: bool = False
    full: bool = False
    context: dict[str, str] = {}
    isolation: Isolation = "process"
    require_graph: bool = False
    timeout: float = 30.0
    compile_timeout: float = 300.0
    world_size: int = 1
    tp_size: int | None = None
