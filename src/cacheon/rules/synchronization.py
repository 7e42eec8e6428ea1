"""CG1xx: the host waits for the device, or decides on its data."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG101",
        title="host read of a live tensor in the entry",
        group="synchronization",
        why=(
            "`.item()`, `.tolist()`, `int(tensor)`, `print(tensor)` and their kind wait until the "
            "device has computed the value. A capturing stream computes nothing, so capture "
            "fails; and a value read on the host would be frozen into the graph."
        ),
        remedy=(
            "Keep the value on the device: hand the tensor itself to the kernel and load it "
            "there, or use `torch.where`, masks and tensor arithmetic. Where only a bound is "
            "needed, take it from a shape (`k.shape[1]` instead of `seq_lens.max().item()`). "
            "Remove debugging prints and asserts on tensors."
        ),
    ),
    Rule(
        id="CG102",
        title="data moved between host and device in the entry",
        group="synchronization",
        why=(
            "`.cpu()`, `.to('cuda')` and `torch.tensor([...], device=...)` copy from or to "
            "pageable host memory, which cannot be captured. A copy from pinned memory is "
            "captured with the host's address, and every replay reads whatever lies there then."
        ),
        remedy=(
            "Create constants at import or in `prepare`, on the device, once for each device and "
            "dtype, and keep them alive at module level. For a filled tensor use `torch.full`, "
            "`zeros` or `arange` with `device=x.device`, which run on the device. Pass plain "
            "numbers to kernels as scalar arguments."
        ),
    ),
    Rule(
        id="CG103",
        title="shape or Python branch that depends on a live tensor",
        group="synchronization",
        why=(
            "`if tensor:`, boolean-mask indexing, `nonzero`, `unique` and `repeat_interleave` "
            "with a tensor of counts need the values on the host to choose a path or a size. "
            "A graph holds one path and one size, whatever the values are at replay."
        ),
        remedy=(
            "Compute both sides and select with `torch.where`, or branch inside the kernel on "
            "the loaded value. Replace mask indexing by masked arithmetic over the full shape, "
            "and give `repeat_interleave` its `output_size` and an integer count. Branch in "
            "Python on shapes only, or declare disjoint variants."
        ),
    ),
    Rule(
        id="CG104",
        title="the entry did not return",
        group="synchronization",
        why=(
            "The call was still running at its deadline: an endless loop, a lock, a spin-wait "
            "on the device for a flag that nobody sets, or a rank that waits for another. A "
            "serving process would hang with it."
        ),
        remedy=(
            "Run the entry alone under `py-spy dump` (host) or `compute-sanitizer` (device) to "
            "see where it waits. A grid-wide barrier needs all blocks resident: launch no more "
            "than fit, or use a cooperative launch. If it only compiles for long, move the "
            "compilation to warm-up and raise `--compile-timeout`."
        ),
    ),
    Rule(
        id="CG105",
        title="explicit synchronisation in the entry",
        group="synchronization",
        why=(
            "`torch.cuda.synchronize()`, `stream.synchronize()`, `event.synchronize()` and "
            "`event.query()` are illegal on a capturing stream; in eager serving they stall "
            "every other request."
        ),
        remedy=(
            "Delete it: work on one stream is already in order. To order two streams use "
            "`event.record(a)` and `b.wait_event(event)`, which are captured as edges of the "
            "graph and do not wait on the host."
        ),
    ),
)
