"""CG3xx: values and pointers that were right once."""

from cacheon.rules.staleness import (
    host_memory,
    lagging_answer,
    other_path_captured,
    replaced_memory,
    stale_value,
)

RULES = (
    stale_value.RULE,
    replaced_memory.RULE,
    lagging_answer.RULE,
    other_path_captured.RULE,
    host_memory.RULE,
)
