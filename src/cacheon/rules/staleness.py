"""CG3xx: values and pointers that were right once."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG301",
        title="output does not follow a live input",
        group="staleness",
        why=(
            "After an input's values changed, the output still belonged to the old ones. "
            "Something that depends on values was computed once and kept: at the first call, "
            "in warm-up, or on the host while the graph was captured."
        ),
        remedy=(
            "Recompute in the entry, on the device, everything that depends on values: lengths, "
            "routing, scales, maxima. Caches may be keyed by shape, dtype and device; keyed by "
            "address they must hold nothing that was derived from contents."
        ),
    ),
    Rule(
        id="CG302",
        title="memory captured by address was freed or replaced",
        group="staleness",
        why=(
            "A graph replays addresses. A workspace or constant that the entry used at capture "
            "was freed, resized or rebound later (a larger shape came, a cache evicted it, "
            "garbage was collected), and the replay reads or writes memory that belongs to "
            "somebody else."
        ),
        remedy=(
            "Never replace a buffer that a captured call used: allocate the largest size once, "
            "or keep every buffer ever handed out (a list, or one for each size) for as long as "
            "the process lives. Or allocate scratch inside the entry with `torch.empty`: under "
            "capture it comes from the graph's own pool and stays."
        ),
    ),
    Rule(
        id="CG303",
        title="answer lags behind its replay",
        group="staleness",
        why=(
            "The output matched the inputs of an earlier replay, not of this one: results are "
            "staged in a buffer and published by the next call, or double-buffering is off by "
            "one."
        ),
        remedy=(
            "Make each call produce its own answer before it ends on the caller's stream. If "
            "you pipeline, join the producing work to the caller's stream within the same call."
        ),
    ),
    Rule(
        id="CG304",
        title="replay differs from the contract though the eager call is right",
        group="staleness",
        why=(
            "The same inputs give the right answer eagerly and a wrong one from the graph. "
            "Something was decided in Python while capturing: a branch on "
            "`is_current_stream_capturing()`, a grid or a split factor taken from a value, a "
            "work item that ran at capture and is not in the graph."
        ),
        remedy=(
            "Take the same path eagerly and under capture. Look for Python state read in the "
            "entry (counters, flags, first-call branches) and for launch parameters that are "
            "computed from tensor values; move the latter into the kernel."
        ),
    ),
    Rule(
        id="CG305",
        title="host memory read by the graph",
        group="staleness",
        why=(
            "The graph has a copy node whose source or target is host memory. Nothing keeps that "
            "memory alive after capture, and what lies there at replay is not what lay there "
            "at capture."
        ),
        remedy=(
            "Put the data on the device once, at import or in `prepare`, and read it from "
            "there. Numbers that are fixed for a shape belong in kernel arguments."
        ),
    ),
)
