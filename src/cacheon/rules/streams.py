"""CG4xx: streams, events, and work that is not where the caller waits."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG401",
        title="work not joined to the caller's stream",
        group="streams",
        why=(
            "The output was complete only after the whole device had been waited for, or the "
            "inputs were read before their producer had written them: part of the work runs on "
            "a stream that does not wait for the caller's, or that the caller's does not wait "
            "for. In serving the neighbours read and write too early, now and then."
        ),
        remedy=(
            "Fork with `side.wait_stream(torch.cuda.current_stream())` and join with "
            "`torch.cuda.current_stream().wait_stream(side)` in every call, on every path. "
            "Launch your own CUDA on `at::cuda::getCurrentCUDAStream()`, never with the default "
            "`<<<grid, block>>>`."
        ),
    ),
    Rule(
        id="CG402",
        title="the entry added no node to the graph",
        group="streams",
        why=(
            "The capture ended with nothing of the entry in it: its work went to another stream "
            "(often the legacy default one), ran on the host, or was skipped. It ran once, "
            "during capture, and no replay repeats it."
        ),
        remedy=(
            "Launch on the current stream: `torch.cuda.current_stream().cuda_stream` from "
            "Python, `at::cuda::getCurrentCUDAStream()` from C++. Do not skip work because the "
            "same arguments were seen before."
        ),
    ),
    Rule(
        id="CG403",
        title="stream or event use that is illegal under capture",
        group="streams",
        why=(
            "A capturing stream was mixed with one that does not take part, an event from "
            "outside the capture was waited for or queried, or a forked stream was not joined "
            "when capture ended. The driver invalidates the whole capture."
        ),
        remedy=(
            "Fork every side stream from the current one and join it back before the entry "
            "returns; record the events you wait for inside the same call; do not query events "
            "or use the default stream."
        ),
    ),
    Rule(
        id="CG404",
        title="host node in the graph",
        group="streams",
        why=(
            "The graph calls back into the host (`cudaLaunchHostFunc`) at every replay. Host "
            "code delays the stream, may touch state that has changed or gone, and must not "
            "call CUDA."
        ),
        remedy=(
            "Do the work on the device, or at load time. Progress counters and logging belong "
            "outside the entry."
        ),
    ),
)
