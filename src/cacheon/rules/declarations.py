"""CG8xx: the contract's arithmetic, and what a bundle declares."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG801",
        title="the entry or prepare raised",
        group="declarations",
        why=(
            "The callable ended with an exception in an ordinary call. Either its signature is "
            "not the slot's, or it does not handle a shape, dtype or layout that the variant's "
            "domain says it serves."
        ),
        remedy=(
            "Compare the arguments with `cacheon slots NAME`: same order, no defaults needed. "
            "Handle the case, or exclude it in the metadata's capabilities: a domain that says "
            "what you support is no shame."
        ),
    ),
    Rule(
        id="CG802",
        title="arithmetic differs from the slot's contract",
        group="declarations",
        why=(
            "More elements are out of tolerance than the slot allows, compared with a float64 or "
            "float32 reference. This is ordinary wrong arithmetic, no graph problem."
        ),
        remedy=(
            "Accumulate in float32 whatever the tensors' dtype, and round once at the end. Check "
            "eps, scale and mask (is the last key visible, the next one not?), and the order of "
            "halves (gate, then up). `-v` shows the worst cell; try `--dtype float32` to tell "
            "rounding from a mistake."
        ),
    ),
    Rule(
        id="CG803",
        title="NaN or infinity where none is allowed",
        group="declarations",
        why=(
            "The output holds a value that is not finite. Inputs are finite, with logits up to "
            "30 and rows scaled by 1e-3 and 1e3, as real models have them."
        ),
        remedy=(
            "Subtract the row's maximum before `exp`; accumulate squares and sums in float32; "
            "guard 0/0 where a row sees no key or an expert no row. In block scores use -inf "
            "for invisible blocks, never NaN or +inf."
        ),
    ),
    Rule(
        id="CG804",
        title="one row, head or tile is wrong",
        group="declarations",
        why=(
            "The share of wrong elements is small enough for the slot's tolerance, but they lie "
            "together: one row, one head or one 64-column tile is wrong as a whole, or one cell "
            "in every round. For the request that owns that row the answer is simply false."
        ),
        remedy=(
            "Look at the index in the row: the last row points to a tail mask, the last tile to "
            "a width that your block does not divide, one head to the mapping of query heads to "
            "key heads, and a row with a boundary length to an off-by-one."
        ),
    ),
    Rule(
        id="CG805",
        title="no case applies",
        group="declarations",
        why=(
            "The variant's domain admits none of the calls of this run, so nothing was shown "
            "about it. A fallback that is always taken earns nothing."
        ),
        remedy=(
            "The row says which field does not fit. Check spelling and units of the "
            "capabilities; a predicate on a field that this slot's calls do not have never "
            "matches. Facts that only an arena knows can be stated: `--context model=NAME`."
        ),
    ),
    Rule(
        id="CG806",
        title="source cannot be loaded",
        group="declarations",
        why=(
            "Importing the source raised, or the module has no such entry. Imports run once, in "
            "a fresh process, from a private copy of the bundle."
        ),
        remedy=(
            "Ship every module that you import, or use what torch and Triton provide; use paths "
            "relative to `__file__`; do not read the environment or the network at import. "
            "`python -c 'import ...'` in an empty directory shows the same error."
        ),
    ),
    Rule(
        id="CG807",
        title="needs real CUDA",
        group="declarations",
        why=(
            "The candidate uses something that only a CUDA device has (inline CUDA, a compiled "
            "extension, a driver call), so a CPU can rehearse nothing here. This is advice, no "
            "failure."
        ),
        remedy=(
            "Run `cacheon verify --device cuda` on a machine with a GPU. If you want quick "
            "checks on a laptop too, take a plain torch path where `x.is_cuda` is false."
        ),
    ),
)
