"""CG5xx: warm-up, compilation, allocation, and what a graph cannot hold."""

from cacheon.rules.allocation import (
    capture_failed,
    climbing_memory,
    conditional_node,
    driver_allocation,
    late_compilation,
    warmup_failure,
)

RULES = (
    warmup_failure.RULE,
    late_compilation.RULE,
    driver_allocation.RULE,
    climbing_memory.RULE,
    capture_failed.RULE,
    conditional_node.RULE,
)
