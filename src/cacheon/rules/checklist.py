"""What must be covered: the specification's list of common capture failures, and the items
of NVIDIA's public CUDA-graph checklist for PyTorch, in our words. Each leads to rules, or
says why none is invented for it."""

from typing import Literal

from cacheon.records.strict import Record
from cacheon.rules.model import Detection


class Item(Record):
    """`rules` that cover it, and `where` they find this: not everywhere that they find
    anything. `note` says what they leave, or why there are none."""

    source: Literal["specification", "checklist"]
    text: str
    rules: tuple[str, ...] = ()
    where: tuple[Detection, ...] = ()
    note: str = ""


_EVERYWHERE: tuple[Detection, ...] = ("scan", "rehearsal", "cuda")


def _specification(
    text: str, *rules: str, where: tuple[Detection, ...] = _EVERYWHERE, note: str = ""
) -> Item:
    return Item(source="specification", text=text, rules=rules, where=where, note=note)


def _checklist(
    text: str, *rules: str, where: tuple[Detection, ...] = _EVERYWHERE, note: str = ""
) -> Item:
    return Item(source="checklist", text=text, rules=rules, where=where if rules else (), note=note)


ITEMS: tuple[Item, ...] = (
    _specification("reads of device values on the host: `.item()`, `.cpu()`", "CG101", "CG102"),
    _specification("Python branches whose path depends on live tensor values", "CG103"),
    _specification(
        "allocation or compilation during capture or replay",
        "CG503",
        "CG502",
        note="A rehearsal sees compilation only.",
    ),
    _specification("a pointer to one output kept, and written on later calls", "CG205"),
    _specification("stale values of a previous invocation", "CG301", "CG303", "CG304", "CG701"),
    _specification("only part of a poisoned output written", "CG203", "CG201"),
    _specification("another order of collectives on another rank", "CG602"),
    _specification("process groups created or destroyed in the entry", "CG601"),
    _specification(
        "another stream, or an event protocol without capture-safe ownership",
        "CG401",
        "CG403",
        where=("scan", "cuda"),
        note="A rehearsal's streams are inert; it sees work of another thread, and collectives "
        "that nobody waits for.",
    ),
    _checklist("no explicit synchronisation", "CG105"),
    _checklist("no blocking copy from device to host, no printing of tensors", "CG102", "CG101"),
    _checklist("no device tensor made of Python objects", "CG102"),
    _checklist("no control flow that depends on data", "CG103", "CG104"),
    _checklist("no indexing of device tensors by host tensors or lists", "CG102"),
    _checklist("no slices with bounds on the device", "CG103"),
    _checklist("no work on the default stream", "CG401", "CG402", where=("scan", "cuda")),
    _checklist(
        "gradient tape and data-parallel wrappers set up on a side stream",
        note="Training only: an entry has neither, and no slot calls backward.",
    ),
    _checklist(
        "libraries and extensions launch on the current stream",
        "CG401",
        "CG402",
        where=("scan", "cuda"),
        note="The scan reads the CUDA that a bundle holds, no library.",
    ),
    _checklist("no query of events or streams", "CG105"),
    _checklist(
        "no queries from background threads",
        "CG905",
        "CG105",
        "CG505",
        note="The scan sees threads that the source starts (CG905), a rehearsal what they ask "
        "(CG105); on CUDA the capture is broken without a line (CG505).",
    ),
    _checklist("no pinned allocation during capture", "CG503", where=("scan", "cuda")),
    _checklist(
        "data loaders that pin memory",
        note="No loader runs in an entry; pinning in the source is CG503.",
    ),
    _checklist(
        "the collective library's watchdog",
        "CG505",
        where=("cuda",),
        note="torch from 2.2 on keeps it from querying during capture; older ones are not run.",
    ),
    _checklist("static topology", "CG103", "CG304", "CG506"),
    _checklist(
        "gradient clipping and optimizers without synchronisation",
        note="Training only: an entry has no gradients. The reads in them are CG101.",
    ),
    _checklist("early exit: one graph a path", "CG103", "CG802"),
    _checklist("code that asks whether it is captured computes the same", "CG304", "CG203"),
    _checklist("static addresses", "CG302", "CG205"),
    _checklist(
        "input buffers updated in place",
        "CG301",
        note="The caller owns the inputs and does so; a kernel that keeps a copy is the fault.",
    ),
    _checklist("global tensors that a graph reads stay alive", "CG302"),
    _checklist(
        "host arrays of pointers stay alive",
        "CG305",
        "CG102",
        note="A rehearsal sees ordinary host memory only; pinned memory needs CUDA.",
    ),
    _checklist(
        "autocast's cache of cast weights",
        "CG301",
        where=("rehearsal", "cuda"),
        note="Entered within the entry, autocast drops its cache as it is left, so the scan "
        "says nothing of it; a stale cast shows when three layers' weights are replayed.",
    ),
    _checklist("scalars that vary become tensors", "CG701", "CG301", "CG101"),
    _checklist(
        "random state is registered with the graph",
        "CG703",
        where=("scan",),
        note="A run has no slot with random results: only the scan can tell.",
    ),
    _checklist("static shapes", "CG103"),
    _checklist(
        "streams are self-contained, and all are joined",
        "CG401",
        "CG403",
        where=("scan", "cuda"),
    ),
    _checklist(
        "memory comes from the graph's own pool",
        "CG503",
        "CG504",
        where=("scan", "cuda"),
        note="`torch.empty` in the entry is served from that pool and is no fault; driver "
        "allocation, allocation nodes and growth are.",
    ),
    _checklist("no host callbacks in the graph", "CG404", where=("scan", "cuda")),
    _checklist("no new process groups", "CG601"),
    _checklist("the same collectives in the same order on all ranks", "CG602"),
    _checklist("compilation of approved kinds only, and only in warm-up", "CG502", "CG501"),
    _checklist("no capture within a capture", "CG505", where=("scan", "cuda")),
)
