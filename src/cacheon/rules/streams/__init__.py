"""CG4xx: streams, events, and work that is not where the caller waits."""

from cacheon.rules.streams import (
    empty_graph,
    host_node,
    illegal_stream_use,
    unjoined_work,
)

RULES = (
    unjoined_work.RULE,
    empty_graph.RULE,
    illegal_stream_use.RULE,
    host_node.RULE,
)
