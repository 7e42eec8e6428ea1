"""CG2xx: what is written, where, and what must not be."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG201",
        title="output not written at all",
        group="writes",
        why=(
            "Every element of the output still holds the poison that was put there before the "
            "call. The next layer would read the result of an earlier step as if it were this "
            "one's."
        ),
        remedy=(
            "Write into the tensor that the caller supplies: `out.copy_(result)`, an `out=` "
            "argument, or a kernel that is launched with `out`. Assigning `out = result` only "
            "rebinds a local name. If a kernel is launched, check its grid (an empty grid runs "
            "nothing) and its stream."
        ),
    ),
    Rule(
        id="CG202",
        title="input changed",
        group="writes",
        why=(
            "An input held other values after the call. Other layers and later steps read the "
            "same buffers, so they compute with data that nobody meant to give them."
        ),
        remedy=(
            "Use out-of-place operations on inputs (`x * s` instead of `x.mul_(s)`), or copy "
            "into scratch first. Look for in-place variants, `out=` arguments that name an "
            "input, and kernels whose store pointer is an input's."
        ),
    ),
    Rule(
        id="CG203",
        title="partial write of the output",
        group="writes",
        why=(
            "Some elements still hold the poison: a tail, every second column, one block or one "
            "row was not stored. Eagerly that often passes, because fresh memory happens to "
            "hold the old answer; in a graph the storage is reused and stale values remain."
        ),
        remedy=(
            "Make the grid cover the whole output (`cdiv(n, BLOCK)`, not `n // BLOCK`) and the "
            "store mask equal to the bounds. Store zeros where there is nothing to compute "
            "instead of skipping the store. Compare the pattern in the row with your block "
            "sizes: it names the tile that is missing."
        ),
    ),
    Rule(
        id="CG204",
        title="write outside the output",
        group="writes",
        why=(
            "Guard bytes around an output, or the gaps between its rows, were overwritten. In "
            "serving another tensor lies there, and it is corrupted silently."
        ),
        remedy=(
            "Mask every store by the true bounds, and address rows by `out.stride(0)` rather "
            "than by the row's width: an output may be pitched. Run the case under "
            "`compute-sanitizer --tool memcheck` to find the store."
        ),
    ),
    Rule(
        id="CG205",
        title="write to an output of an earlier call",
        group="writes",
        why=(
            "The call wrote into an output that was handed over in another call, usually the "
            "first. A cached pointer, a cached descriptor or a kept tensor was used instead of "
            "the argument; with CUDA graphs several captures live at once, and one overwrites "
            "the other's answer."
        ),
        remedy=(
            "Do not keep `out`, or anything made of its address, between calls. Build tensor "
            "descriptors from the current arguments, or key their cache by `data_ptr()`, shape "
            "and strides together."
        ),
    ),
    Rule(
        id="CG206",
        title="result returned instead of written",
        group="writes",
        why=(
            "The entry returned a tensor and left the supplied output alone. The caller ignores "
            "return values: a graph can only be read at the addresses it was captured with."
        ),
        remedy=(
            "End with `out.copy_(result)`, or better, compute straight into `out`, and return "
            "nothing."
        ),
    ),
)
