"""What an arena is: the published facts of one serving setting, and the policy applied in it."""

from typing import Literal, get_args

from cacheon.contract.descriptor import Context
from cacheon.records.strict import Record

Device = Literal["cuda", "cpu"]
Isolation = Literal["process", "inline"]
Dtype = Literal["bfloat16", "float16", "float32"]
Compilation = Literal["triton", "inductor", "nvcc"]
"""Kinds of compilation that may be approved; nvcc only of declared sources."""
Probe = Literal["growth", "perturb"]
"""`perturb`: memory is collected and refilled, sibling graphs destroyed, a larger call made
between replays. `growth`: device memory must not climb over calls, replays and captures."""

DEVICES: tuple[Device, ...] = get_args(Device)
ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
COMPILATIONS: tuple[Compilation, ...] = get_args(Compilation)
PROBES: tuple[Probe, ...] = get_args(Probe)


class PinnedKey(Record):
    """An observer that may deliver. `key`: Ed25519 public key, 64 lower-case hexadecimal
    characters."""

    name: str
    key: str


class Bounds(Record):
    """What counts as right for variants of one quant, in place of the slot's own numbers:
    `tolerance` (atol = rtol) and `row_error`, as in `contract.slots.model`."""

    tolerance: float
    row_error: float


class Arena(Record):
    """One arena, as its file says it.

    `context`: what is fixed for every call. `limits`: lowest and highest value of a
    dimension field, which close the ends that a domain leaves open. `replays`, `soak`:
    compared replays of a case and order, one at a time and in bursts. `work_budget`: bytes
    of one call's inputs and outputs. `observers`: pinned keys, none where whoever requires
    pins them. `quorum`: observers that must agree. `minimum_version`: the oldest version of
    this arena whose requirements are still graded. `bounds`: by quant; see Bounds."""

    name: str
    version: int
    title: str
    targets: tuple[str, ...]
    device: Device
    context: Context
    graph_required: bool
    replays: int
    soak: int
    work_budget: int
    quorum: int
    minimum_version: int
    isolation: Isolation
    limits: dict[str, tuple[int, int]]
    probes: tuple[Probe, ...]
    compilation: tuple[Compilation, ...]
    observers: tuple[PinnedKey, ...]
    bounds: dict[str, Bounds]


class Published(Record):
    """An arena and the digest of the very bytes that say it."""

    arena: Arena
    digest: str
