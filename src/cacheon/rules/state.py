"""CG7xx: what one call leaves behind for the next."""

from cacheon.rules.model import Rule

RULES = (
    Rule(
        id="CG701",
        title="state carried from one replay to the next",
        group="state",
        why=(
            "The first replays were right and later ones wrong: an accumulator is not cleared "
            "within the graph, a counter or ring overflows, a flag is consumed once, a random "
            "offset stands still. Python that resets it eagerly does not run at replay."
        ),
        remedy=(
            "Clear scratch inside the captured work, in every call (`buf.zero_()`, or the "
            "kernel's first block), not when Python happens to run. Semaphores must return to "
            "their initial value before the call ends; rings must not assume how often they "
            "are used."
        ),
    ),
    Rule(
        id="CG702",
        title="wrong only beside other captured cases",
        group="state",
        why=(
            "Alone the case passes; with other shapes captured in the same process it fails. "
            "The captures share something: a workspace sized for another shape, a cache whose "
            "key lacks a dimension, a flag buffer laid out by message size."
        ),
        remedy=(
            "Put every dimension, stride and dtype that matters into the cache's key. Give each "
            "shape its own scratch, or lay out shared scratch for the largest shape, identically "
            "for all. Reproduce with `--case` naming the two cases together."
        ),
    ),
)
