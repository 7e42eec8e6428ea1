"""CG5xx: warm-up, compilation, allocation, and what a graph cannot hold."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG501",
        title="failure in warm-up or compilation",
        group="allocation",
        why=(
            "The first calls, which may compile and initialise, raised or ran past their "
            "deadline. Nothing that follows can be examined."
        ),
        remedy=(
            "Read the compiler's message in the row. Check the architecture and dtype that the "
            "bundle declares against this device, and pass smaller blocks or fewer stages where "
            "shared memory or registers run out. Slow compilers: `--compile-timeout`."
        ),
    ),
    Rule(
        id="CG502",
        title="compilation or lazy initialisation during capture",
        group="allocation",
        why=(
            "Code that warm-up did not reach compiled, autotuned, loaded a module or created a "
            "handle while the stream was capturing. Loading and benchmarking synchronise, which "
            "capture forbids; and a server would pay seconds in the middle of a request."
        ),
        remedy=(
            "Make warm-up run what capture runs: autotune keys and specialisations may depend "
            "on shape and dtype only, which warm-up sees. Compile all variants at import, or "
            "in the first call of a shape, and do not branch on whether a capture is going on."
        ),
    ),
    Rule(
        id="CG503",
        title="allocation inside the graph",
        group="allocation",
        why=(
            "The graph has an allocation node, or the driver was asked for memory while "
            "capturing (`cudaMalloc`, `cudaMallocAsync`, a library's own workspace). It is "
            "either illegal or costs a map at every replay, and its address is not what other "
            "captured work expects."
        ),
        remedy=(
            "Allocate through torch (`torch.empty` in the entry is served from the graph's "
            "pool), or once before capture. Give libraries a workspace that you own, sized for "
            "the largest shape."
        ),
    ),
    Rule(
        id="CG504",
        title="device memory climbs",
        group="allocation",
        why=(
            "Memory in use grew steadily with calls, replays or captures, more than the plain "
            "torch implementation of the slot does. A server runs out of memory after hours."
        ),
        remedy=(
            "Look for lists and dictionaries that gain an entry with each call (keyed by "
            "address, by value or by a counter), for handles that are opened and never closed, "
            "and for workspaces that are kept for each capture. Bound them, or key them by "
            "shape."
        ),
    ),
    Rule(
        id="CG505",
        title="capture failed",
        group="allocation",
        why=(
            "Something the entry did is not legal on a capturing stream, and the error fits no "
            "narrower rule. The exception at the end of a capture only says that it was "
            "invalidated; the row shows the first cause that could be found."
        ),
        remedy=(
            "Bisect the entry: capture half of it with `torch.cuda.graph` in a script of a few "
            "lines. `torch.cuda.set_sync_debug_mode('error')` in an eager call raises at the "
            "line of a hidden synchronisation, and `CUDA_LAUNCH_BLOCKING` must be unset."
        ),
    ),
    Rule(
        id="CG506",
        title="conditional node in the graph",
        group="allocation",
        why=(
            "The graph holds a conditional or child graph whose path depends on device values. "
            "What a replay executes is then not what was captured and looked into, and evidence "
            "for one path says nothing about the other."
        ),
        remedy=(
            "Branch inside a kernel, or compute both sides and select. If the algorithms differ "
            "by shape, declare disjoint variants with capability domains."
        ),
    ),
)
