"""CG2xx: what is written, where, and what must not be."""

from cacheon.rules.writes import (
    input_changed,
    kept_output,
    nothing_written,
    outside_write,
    partial_write,
    returned_result,
)

RULES = (
    nothing_written.RULE,
    input_changed.RULE,
    partial_write.RULE,
    outside_write.RULE,
    kept_output.RULE,
    returned_result.RULE,
)
