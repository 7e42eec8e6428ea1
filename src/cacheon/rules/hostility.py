"""CG9xx: a candidate that ends, leaves or interferes."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG901",
        title="the candidate's process died by a signal",
        group="hostility",
        why=(
            "The process ended in a crash (segmentation fault, illegal memory access that took "
            "the context down, out of memory). It happened twice, while the control lived."
        ),
        remedy=(
            "Run the case under `compute-sanitizer`, and native code under `gdb` or with "
            "`PYTHONFAULTHANDLER=1`. Usual causes: an index past the end, a pointer kept after "
            "its tensor, a host array passed where a device pointer is meant."
        ),
    ),
    Rule(
        id="CG902",
        title="the candidate's process left",
        group="hostility",
        why=(
            "The process ended by `exit`, `os._exit` or the end of its main thread while it was "
            "being examined. Leaving is no way to have no verdict."
        ),
        remedy=(
            "Raise an exception instead of exiting, and remove clean-up code that ends the "
            "process. An assert in a C++ extension that calls `abort` or `exit` counts as well."
        ),
    ),
    Rule(
        id="CG903",
        title="the worker's answer was not understood",
        group="hostility",
        why=(
            "Bytes came over the worker's channel that are no answer to the command. Something "
            "in the candidate writes to descriptors that are not its own, or answers in place "
            "of the examination."
        ),
        remedy=(
            "Write only to standard output and error, or to files that you opened. Do not close, "
            "duplicate or scan file descriptors."
        ),
    ),
    Rule(
        id="CG904",
        title="descendant left behind",
        group="hostility",
        why=(
            "The candidate started a process that outlived it or left its session. It could "
            "compute answers outside the graph, or disturb what is measured next."
        ),
        remedy=(
            "Start no processes in the entry. Compilers that you start at load time must have "
            "ended when the call returns: wait for them, and use no daemon pools."
        ),
    ),
    Rule(
        id="CG905",
        title="replay answered without the graph, or the examination interfered with",
        group="hostility",
        why=(
            "Answers appeared that the graph cannot have produced, or state that belongs to the "
            "examination (buffers, comparison functions, counters) was changed. Whatever the "
            "arithmetic, nothing was shown about the graph."
        ),
        remedy=(
            "Let the captured work write the output and nothing else. Do not patch torch, walk "
            "frames or the garbage collector, or run threads that touch tensors after the entry "
            "has returned."
        ),
    ),
)
