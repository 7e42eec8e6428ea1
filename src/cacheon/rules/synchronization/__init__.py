"""CG1xx: the host waits for the device, or decides on its data."""

from cacheon.rules.synchronization import (
    endless,
    explicit_wait,
    host_copy,
    host_read,
    live_branch,
)

RULES = (
    host_read.RULE,
    host_copy.RULE,
    live_branch.RULE,
    endless.RULE,
    explicit_wait.RULE,
)
